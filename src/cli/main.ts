#!/usr/bin/env node
// Only syntax of old Node.js versions here, and nothing imported before the check: a version that is too old must reach the message.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  console.error(`kindred: Node.js 24.15 or newer is needed, this is ${process.versions.node} (${process.execPath}).`);
  process.exitCode = 2;
} else {
  import('./loading.ts').then(async ({ loading }) => {
    const { run } = await loading(() => import('./program.ts'));
    // A reader that went away (`| head`): an error of a write that nobody waits for would end the process with a stack.
    for (const output of [process.stdout, process.stderr]) {
      output.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EPIPE') throw error;
      });
    }
    process.exitCode = await run(process.argv.slice(2), {
      stdin: process.stdin,
      stdout: process.stdout,
      stderr: process.stderr,
      env: process.env,
    });
    // A worker of `serve --workers` would live on by its channel to the first process.
    process.channel?.unref();
  });
}

export {};
