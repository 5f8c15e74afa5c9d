/**
 * Node's HTTP modules. `import` of `node:http` evaluates each of its exports, WebSocket among them, which loads undici: some
 * 7 MiB at rest that nothing here uses. `getBuiltinModule` gives the same module and evaluates nothing.
 */
export const http = process.getBuiltinModule('node:http');

/** Loaded at the first call: without a receiver over TLS nothing needs it. */
export const https = () => process.getBuiltinModule('node:https');
