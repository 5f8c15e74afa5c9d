/**
 * The editor: CodeMirror in an open shadow root, where its styles are constructed style sheets, which the content security
 * policy allows. Tab moves the focus after Esc, so that the keyboard finds a way out.
 */

import type { CompletionSource } from '@codemirror/autocomplete';
import { autocompletion, closeBrackets, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language';
import type { Diagnostic } from '@codemirror/lint';
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export interface EditorOptions {
  readonly parent: HTMLElement;
  readonly text: string;
  readonly language: 'yaml' | 'json';
  readonly label: string;
  readonly describedBy: string;
  readonly readOnly: boolean;
  readonly phrases: Readonly<Record<string, string>>;
  readonly complete?: CompletionSource;
  readonly onChange: (text: string) => void;
  readonly onBlur: () => void;
}

export interface Editor {
  readonly view: EditorView;
  /** What another place changed; the cursor stays where it can. */
  setText(text: string): void;
  setReadOnly(readOnly: boolean): void;
  setLabel(label: string): void;
  setProblems(problems: readonly { readonly from: number; readonly to: number; readonly message: string }[]): void;
  goTo(offset: number): void;
  destroy(): void;
}

const look = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--bg)', font: '13px/20px var(--mono)', blockSize: '100%' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { font: 'inherit' },
  '.cm-content': { caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--surface)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--changed) 60%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--selected)',
  },
  '.cm-panels, .cm-tooltip': {
    color: 'var(--text)',
    backgroundColor: 'var(--raised)',
    border: '1px solid var(--line)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { color: 'var(--text)', backgroundColor: 'var(--selected)' },
  '.cm-textfield, .cm-button': {
    color: 'var(--text)',
    background: 'var(--bg)',
    border: '1px solid var(--control)',
    borderRadius: '4px',
  },
  '.cm-searchMatch': { backgroundColor: 'var(--selected)', outline: '1px solid var(--accent)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--selected)' },
  '.cm-foldPlaceholder': { color: 'var(--muted)', backgroundColor: 'var(--surface)', border: '1px solid var(--line)' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--danger)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--danger)',
    textUnderlineOffset: '3px',
  },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.comment, tags.meta], color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--warn)' },
  { tag: tags.invalid, color: 'var(--danger)' },
]);

export function createEditor(options: EditorOptions): Editor {
  const root = options.parent.shadowRoot ?? options.parent.attachShadow({ mode: 'open' });
  const editable = new Compartment();
  const attributes = new Compartment();
  const readOnly = (is: boolean) => [EditorState.readOnly.of(is), EditorView.editable.of(!is)];
  const named = (label: string) =>
    EditorView.contentAttributes.of({
      'aria-label': label,
      'aria-description': options.describedBy,
      spellcheck: 'false',
      // Without it a text that cannot be edited would not be reached by the keyboard.
      tabindex: '0',
    });
  let isOurs = false;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        lineNumbers(),
        foldGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        indentUnit.of('  '),
        EditorState.tabSize.of(2),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        search({ top: true }),
        lintGutter(),
        autocompletion(options.complete ? { override: [options.complete] } : {}),
        options.language === 'yaml' ? yaml() : json(),
        look,
        syntaxHighlighting(colours),
        EditorView.lineWrapping,
        EditorState.phrases.of(options.phrases),
        editable.of(readOnly(options.readOnly)),
        attributes.of(named(options.label)),
        keymap.of([
          ...completionKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...foldKeymap,
          ...lintKeymap,
          ...defaultKeymap,
          indentWithTab,
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !isOurs) options.onChange(update.state.doc.toString());
          if (update.focusChanged && !update.view.hasFocus) options.onBlur();
        }),
      ],
    }),
  });

  return {
    view,
    setText(text) {
      const now = view.state.doc.toString();
      if (now === text) return;
      let from = 0;
      while (from < now.length && from < text.length && now[from] === text[from]) from++;
      let end = 0;
      while (end < now.length - from && end < text.length - from && now.at(-1 - end) === text.at(-1 - end)) end++;
      isOurs = true;
      view.dispatch({ changes: { from, to: now.length - end, insert: text.slice(from, text.length - end) } });
      isOurs = false;
    },
    setReadOnly: (is) => view.dispatch({ effects: editable.reconfigure(readOnly(is)) }),
    setLabel: (label) => view.dispatch({ effects: attributes.reconfigure(named(label)) }),
    setProblems(problems) {
      const { length } = view.state.doc;
      const diagnostics = problems.map(
        ({ from, to, message }): Diagnostic => ({
          from: Math.min(from, length),
          to: Math.min(Math.max(to, from), length),
          message,
          severity: 'error',
        }),
      );
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    goTo(offset) {
      const at = Math.min(offset, view.state.doc.length);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}
