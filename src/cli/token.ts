import { Command } from 'commander';
import { roleBindingKind, tokenKind, userKind } from '../auth/kinds.ts';
import type { KindredClient } from '../client/client.ts';
import { KindredError, modelOf } from '../client/client.ts';
import { parseDuration } from '../model/duration.ts';
import { isName } from '../model/names.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { UsageError, write } from './io.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';
import { wholePage } from './print-objects.ts';
import { repeatable } from './select.ts';
import { table } from './table.ts';

interface Token extends ExtensionObject {
  spec: { user: string; roles?: string[]; expiresAt?: string };
  status?: { token?: string };
}

const tokens = modelOf(tokenKind);
const users = modelOf(userKind);
const bindings = modelOf(roleBindingKind);

export function tokenCommand(io: Io): Command {
  return new Command('token')
    .description('access tokens')
    .addCommand(createCommand(io))
    .addCommand(tokenListCommand(io))
    .addCommand(revokeCommand(io));
}

function createCommand(io: Io): Command {
  const command = new Command('create')
    .description(
      'print a new token of a user; it is shown this once. A user who is absent is created and given the roles',
    )
    .requiredOption('--user <name>', 'whose token it is')
    .addOption(repeatable('--role <role>', 'the token can do only what this role and the user can; repeatable'))
    .option('--ttl <duration>', 'how long it is valid, such as 12h or 30d (default: until it is revoked)')
    .action(async (flags: ConnectionFlags & { user: string; role?: string[]; ttl?: string }) => {
      const lifetime = flags.ttl === undefined ? undefined : parseDuration(flags.ttl);
      const end = new Date(Date.now() + (lifetime ?? 0));
      if (flags.ttl !== undefined && (!lifetime || end.getUTCFullYear() > 9999 || Number.isNaN(end.getTime()))) {
        throw new UsageError(`--ttl needs a duration such as 12h or 30d, not "${flags.ttl}"`);
      }
      if (!isName(flags.user)) {
        throw new UsageError(
          `--user needs the name of a User: letters a-z, digits and "-", with a letter or digit at both ends, not "${flags.user}". Users known by a JWT need no User, and make their tokens themselves`,
        );
      }
      const client = connect(flags, io);
      const isNew = await createUser(client, flags.user);
      let token: Token;
      try {
        if (isNew) await bind(client, flags.user, flags.role ?? []);
        token = (await client.create(tokens, {
          metadata: { generateName: 'token-' },
          spec: {
            user: flags.user,
            ...(flags.role && { roles: flags.role }),
            ...(lifetime && { expiresAt: end.toISOString() }),
          },
        })) as Token;
      } catch (error) {
        // The next run would take the user for one that has its roles already.
        if (isNew) await withdraw(io, client, flags.user);
        throw error;
      }
      await write(io.stdout, `${token.status?.token}\n`);
    });
  return withConnection(command, io);
}

/** False when there is such a user. */
async function createUser(client: KindredClient, name: string): Promise<boolean> {
  if (await client.fetch(users, name)) return false;
  try {
    await client.create(users, { metadata: { name }, spec: {} });
    return true;
  } catch (error) {
    if (!(error instanceof KindredError) || error.code !== 'AlreadyExists') throw error;
    return false;
  }
}

/** A token narrows what its user may do, so one of a user without any role would be of no use. */
async function bind(client: KindredClient, user: string, roles: readonly string[]): Promise<void> {
  for (const role of roles) {
    await client.create(bindings, {
      metadata: { generateName: 'token-' },
      roleRef: { kind: 'Role', name: role },
      subjects: [{ kind: 'User', name: user }],
    });
  }
}

/** Takes a user back, and with it the bindings. */
async function withdraw(io: Io, client: KindredClient, user: string): Promise<void> {
  await client.delete(users, user).catch(() => {
    io.stderr.write(`kindred: the User ${user} may lack its roles; delete it before you try again\n`);
  });
}

function tokenListCommand(io: Io): Command {
  const command = new Command('list')
    .description('print the tokens, without the secrets')
    .option('--user <name>', 'only those of this user')
    .addOption(formatOption(valueFormats, 'table'))
    .action(async (flags: ConnectionFlags & { user?: string; output: Format }) => {
      const found: Token[] = [];
      for await (const token of connect(flags, io).listAll(tokens)) {
        if (flags.user === undefined || (token as Token).spec.user === flags.user) found.push(token as Token);
      }
      await print(io, flags.output, { items: found, ...wholePage(found.length) }, () =>
        table(
          ['NAME', 'USER', 'ROLES', 'EXPIRES'],
          found.map(({ metadata, spec }) => [
            metadata.name,
            spec.user,
            spec.roles?.join(',') ?? '-',
            spec.expiresAt ?? 'never',
          ]),
        ),
      );
    });
  return withConnection(command, io);
}

function revokeCommand(io: Io): Command {
  const command = new Command('revoke')
    .description('revoke a token; takes effect at once')
    .argument('<name>', 'name of the token, as "token list" shows it')
    .action(async (name: string, flags: ConnectionFlags) => {
      await connect(flags, io).delete(tokens, name);
      await write(io.stdout, `${name} revoked\n`);
    });
  return withConnection(command, io);
}
