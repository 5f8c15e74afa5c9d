import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { KindredError } from '../errors.ts';
import { parseDeclared, readDeclared } from './predeclared.ts';

const book = (name: string) =>
  `apiVersion: demo.example.com/v1\nkind: Book\nmetadata:\n  name: ${name}\nspec:\n  title: T\n`;

function refusal(work: () => unknown): KindredError {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof KindredError);
    assert.equal(error.code, 'InvalidPlugin');
    return error;
  }
  return assert.fail('nothing was refused');
}

describe('reading pre-declared objects', () => {
  it('spec: Pre-declared objects - several objects share one file, separated by ---', () => {
    const all = parseDeclared(`# books\n---\n${book('a')}---\n${book('b')}---\n# nothing\n`, 'extensions/books.yaml');
    assert.deepEqual(
      all.map(({ name, kind, apiVersion, line }) => ({ name, kind, apiVersion, line })),
      [
        { name: 'a', kind: 'Book', apiVersion: 'demo.example.com/v1', line: 3 },
        { name: 'b', kind: 'Book', apiVersion: 'demo.example.com/v1', line: 10 },
      ],
    );
    assert.equal(all[1]!.lineOf('/spec/title'), 15);
    assert.equal(all[1]!.lineOf('/spec/absent'), 15);
  });

  it('spec: Pre-declared objects - the older form names the type field groupVersion', () => {
    const [one] = parseDeclared('groupVersion: demo.example.com/v1\nkind: Book\nmetadata: { name: a }\n', 'a.yaml');
    assert.deepEqual(one!.object, { apiVersion: 'demo.example.com/v1', kind: 'Book', metadata: { name: 'a' } });
  });

  it('spec: Pre-declared objects - file names are arbitrary, both folders are read, other files are not', async () => {
    const root = mkdtempSync(join(tmpdir(), 'kindred-'));
    try {
      const files: Record<string, string> = {
        'extensions/zz.yml': book('z'),
        'extensions/a b.yaml': book('y'),
        'extensions/notes.txt': 'no: [yaml',
        'src/main/resources/extensions/old.yaml': book('x'),
      };
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(root, file)), { recursive: true });
        writeFileSync(join(root, file), text);
      }
      assert.deepEqual(
        (await readDeclared(root)).map(({ file, name }) => [file, name]),
        [
          ['extensions/a b.yaml', 'y'],
          ['extensions/zz.yml', 'z'],
          ['src/main/resources/extensions/old.yaml', 'x'],
        ],
      );
      writeFileSync(join(root, 'extensions/again.yaml'), book('z'));
      await assert.rejects(
        readDeclared(root),
        /zz\.yml:4: Book "z" is declared twice, first at extensions\/again\.yaml:1/,
      );
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  it('plugins: a plugin without pre-declared objects has none', async () => {
    assert.deepEqual(await readDeclared(join(tmpdir(), 'there-is-no-such-folder')), []);
  });

  const bombs = `a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`;
  const refused: { what: string; text: string; at: number; says: RegExp }[] = [
    { what: 'that is not YAML', text: `${book('a')}---\nkind: [Book\n`, at: 9, says: /flow|\]/i },
    { what: 'that is a list', text: '- a\n- b\n', at: 1, says: /expected an object/ },
    { what: 'without apiVersion', text: '# c\nkind: Book\nmetadata: { name: a }\n', at: 2, says: /"apiVersion"/ },
    { what: 'without kind', text: 'apiVersion: g/v1\nmetadata: { name: a }\n', at: 1, says: /"kind"/ },
    {
      what: 'without a name',
      text: 'apiVersion: g/v1\nkind: Book\nmetadata:\n  labels: {}\n',
      at: 4,
      says: /metadata\.name/,
    },
    {
      what: 'with two type fields that differ',
      text: 'apiVersion: g/v1\ngroupVersion: g/v2\nkind: B\nmetadata: { name: a }\n',
      at: 2,
      says: /differ/,
    },
    {
      what: 'with a member twice',
      text: 'apiVersion: g/v1\nkind: B\nkind: C\nmetadata: { name: a }\n',
      at: 3,
      says: /unique/i,
    },
    {
      what: 'with a number that is not kept exactly',
      text: `${book('a')}  isbn: 9007199254740993\n`,
      at: 7,
      says: /9007199254740993/,
    },
    { what: 'with an unknown alias', text: `${book('a')}  other: *nowhere\n`, at: 7, says: /alias/i },
    { what: 'with more aliases than allowed', text: `${book('a')}${bombs}`, at: 1, says: /alias/i },
  ];
  for (const { what, text, at, says } of refused) {
    it(`plugins: a document ${what} is refused with file, line and reason`, () => {
      const error = refusal(() => parseDeclared(text, 'extensions/a.yaml'));
      assert.match(error.message, new RegExp(`^extensions/a\\.yaml:${at}: `));
      assert.match(error.message, says);
    });
  }
});
