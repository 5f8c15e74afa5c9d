/** How the database URL says that connections are secured, and what helps when they cannot be. */
import { readFileSync } from 'node:fs';

export interface Security {
  /** PEM of the authorities that may have issued the server's certificate; undefined: those that Node.js trusts. */
  readonly ca?: Buffer;
  /** PEM of the client's own certificate and key. */
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** The server's certificate must be of an authority that is trusted. */
  readonly rejectUnauthorized: boolean;
  /** It must also be for the host of the URL. */
  readonly verifyIdentity: boolean;
}

const securityParameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'];
const securityModes = ['disable', 'require', 'verify-ca', 'verify-full'];

/**
 * The URL of one host without its parameters of security, and these: `sslmode` (`disable`, the default; `require`; `verify-ca`;
 * `verify-full`), `sslrootcert`, `sslcert` and `sslkey` (files in PEM), with the meaning that they have for libpq
 * (PostgreSQL documentation, "SSL Support"). Throws a plain error of one line when they do not fit together.
 */
export function securityOf(url: string): { url: URL; security: Security | undefined } {
  const rest = new URL(url);
  const { searchParams } = rest;
  const unknown = [...searchParams.keys()].find((name) => name.startsWith('ssl') && !securityParameters.includes(name));
  if (unknown !== undefined) {
    throw new Error(`${unknown} in the database URL: TLS is chosen with ${securityParameters.join(', ')}`);
  }
  const [mode = 'disable', rootFile, certFile, keyFile] = securityParameters.map((name) => {
    const value = searchParams.get(name) ?? undefined;
    searchParams.delete(name);
    return value;
  });
  if (!securityModes.includes(mode)) {
    throw new Error(`sslmode=${mode} in the database URL: expected ${securityModes.join(', ')}`);
  }
  if (mode === 'disable') {
    if (rootFile ?? certFile ?? keyFile) {
      throw new Error('the database URL names certificates but asks for no TLS: add sslmode=verify-full');
    }
    return { url: rest, security: undefined };
  }
  if (mode === 'verify-ca' && rootFile === undefined) {
    throw new Error(
      "sslmode=verify-ca in the database URL needs sslrootcert, the file with your authority's certificate: any server can have a certificate of a public one",
    );
  }
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new Error('the database URL must have both sslcert and sslkey, or neither');
  }
  const [ca, cert, key] = [pem('sslrootcert', rootFile), pem('sslcert', certFile), pem('sslkey', keyFile)];
  const security = {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    rejectUnauthorized: mode !== 'require' || ca !== undefined,
    verifyIdentity: mode === 'verify-full',
  };
  return { url: rest, security };
}

function pem(parameter: string, file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new Error(`${parameter} in the database URL: ${(cause as Error).message}`, { cause });
  }
}

/** OpenSSL's words for a chain that ends at nobody who is trusted; the driver of MySQL passes on no code. */
const untrusted =
  /self-signed certificate|unable to (verify the first|get (local )?issuer) certificate|certificate (not trusted|signature failure)/;

/** What an operator can do about a connection that failed, where the driver's words do not say it. */
export function advice(message: string): string {
  if (message.includes("does not match certificate's altnames")) {
    return '; use the name that the certificate has, or sslmode=verify-ca with an authority of your own';
  }
  if (untrusted.test(message)) {
    return '; its authority is not trusted: name the file with its certificate by sslrootcert in the database URL';
  }
  return '';
}
