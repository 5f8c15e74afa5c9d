/** The option `auth` of the service: what may stand there, checked before anything starts. */

import { Type } from '../model/type.ts';
import { SchemaDocument } from '../schema/document.ts';
import { nodeLoader } from '../schema/node-loader.ts';
import { normalizeSchema } from '../schema/read.ts';
import type { AuditOptions } from './audit.ts';
import { mostKept } from './audit.ts';
import type { IssuerOptions } from './authentication/jwt.ts';
import type { RateLimitOptions } from './authentication/rate-limit.ts';

export interface AuthOptions {
  /** Whose JSON Web Tokens are accepted. Default none. */
  readonly issuers?: readonly IssuerOptions[];
  readonly rateLimit?: RateLimitOptions;
  readonly audit?: AuditOptions;
  /** Whether a first start makes an administrator with a token. Default true. With false nobody does later: roles come with the tokens of an issuer. */
  readonly administratorToken?: boolean;
}

const closed = { additionalProperties: false };
const texts = Type.Array(Type.String(), { minItems: 1 });
const milliseconds = Type.Optional(Type.Number({ minimum: 0 }));
const bucket = Type.Optional(
  Type.Union([
    Type.Literal(false),
    Type.Object({ perSecond: Type.Number({ exclusiveMinimum: 0 }), burst: Type.Number({ minimum: 1 }) }, closed),
  ]),
);

const schema = Type.Object(
  {
    issuers: Type.Optional(
      Type.Array(
        Type.Object(
          {
            url: Type.String(),
            audience: Type.Union([Type.String({ minLength: 1 }), texts]),
            claims: Type.Optional(
              Type.Object({ user: Type.Optional(Type.String()), roles: Type.Optional(Type.String()) }, closed),
            ),
            requireVerifiedEmail: Type.Optional(Type.Boolean()),
            userPrefix: Type.Optional(Type.String()),
            localUsers: Type.Optional(Type.Boolean()),
            tokenMaxAge: Type.Optional(Type.Union([Type.Literal(false), Type.Number({ minimum: 0 })])),
            roleMapping: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
            clockSkew: milliseconds,
            algorithms: Type.Optional(texts),
            keysMaxAge: milliseconds,
            keysCooldown: milliseconds,
            timeout: milliseconds,
            login: Type.Optional(
              Type.Object(
                {
                  clientId: Type.String({ minLength: 1 }),
                  clientSecret: Type.Optional(Type.String({ minLength: 1 })),
                  scopes: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
                  displayName: Type.Optional(Type.String({ minLength: 1 })),
                },
                closed,
              ),
            ),
          },
          closed,
        ),
      ),
    ),
    rateLimit: Type.Optional(
      Type.Object(
        {
          perIdentity: bucket,
          perAddress: bucket,
          signIn: bucket,
          exemptLoopback: Type.Optional(Type.Boolean()),
          buckets: Type.Optional(Type.Integer({ minimum: 1 })),
        },
        closed,
      ),
    ),
    audit: Type.Optional(
      Type.Object(
        {
          file: Type.Optional(Type.String({ minLength: 1 })),
          reads: Type.Optional(Type.Boolean()),
          keep: Type.Optional(Type.Integer({ minimum: 0, maximum: mostKept })),
        },
        closed,
      ),
    ),
    administratorToken: Type.Optional(Type.Boolean()),
  },
  closed,
);

/** Throws a plain error that names each wrong member on a line of its own: a typing error here must not open a door. */
export function checkAuthOptions(options: unknown): void {
  const source = { model: 'the service', path: '/auth', warnings: [] };
  const document = new SchemaDocument(normalizeSchema(schema, source), {
    ...source,
    closed: true,
    loader: nodeLoader,
  });
  const mistakes = document.validate(options, '/auth').listed.map(({ keyword, field, message }) => {
    return `the option ${field} ${keyword === 'additionalProperties' ? 'is not known' : message}`;
  });
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
}
