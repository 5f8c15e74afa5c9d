/**
 * Node's HTTP modules. `import` of `node:http` evaluates each of its exports, WebSocket among them, which loads undici: some
 * 7 MiB at rest that nothing here uses. `getBuiltinModule` gives the same module and evaluates nothing.
 */
export const http = process.getBuiltinModule('node:http');

/** Loaded at the first call: where nothing speaks TLS, nothing needs them. */
export const https = () => process.getBuiltinModule('node:https');
export const tls = () => process.getBuiltinModule('node:tls');
