import own from '../package.json' with { type: 'json' };
import { pluginFiles, pluginManifest } from '../src/cli/plugin-new.ts';

/** What each database needs: where it is, and its driver. */
const databases = {
  sqlite: { url: () => 'sqlite:./kindred.db' },
  postgres: {
    url: (name: string) => `postgres://${name}:${name}@127.0.0.1:5432/${name}`,
    driver: 'pg',
    image: 'postgres:18',
    data: '/var/lib/postgresql',
    variables: (name: string) => ({ POSTGRES_USER: name, POSTGRES_PASSWORD: name, POSTGRES_DB: name }),
    ready: (name: string) => `pg_isready --username ${name}`,
    port: 5432,
  },
  mysql: {
    url: (name: string) => `mysql://${name}:${name}@127.0.0.1:3306/${name}`,
    driver: 'mysql2',
    image: 'mariadb:12',
    data: '/var/lib/mysql',
    variables: (name: string) => ({
      MARIADB_USER: name,
      MARIADB_PASSWORD: name,
      MARIADB_DATABASE: name,
      MARIADB_RANDOM_ROOT_PASSWORD: '1',
    }),
    ready: () => 'healthcheck.sh --connect --innodb_initialized',
    port: 3306,
  },
} as const;

/** Starts the database of the application, where it is a server. */
export const startDatabase = 'docker compose up --detach database';

export type Database = keyof typeof databases;

export function isDatabase(text: string): text is Database {
  return Object.hasOwn(databases, text);
}

/** Oldest Node.js that runs an application: "24.15". */
export const oldestNode = own.engines.node.slice('>='.length);

/** Paths and contents of an application: a plugin, the service that runs it, and an image of both. */
export function applicationFiles(name: string, group: string, database: Database): Record<string, string> {
  const { url } = databases[database];
  return {
    ...pluginFiles(name, group, own),
    'package.json': `${JSON.stringify(manifest(name, database), null, 2)}\n`,
    'kindred.yaml': `# Settings of the service: "npx kindred serve --help" lists all of them. Environment variables take precedence.
database: ${url(name)}
plugin: [.]
`,
    Dockerfile: dockerfile(database),
    '.dockerignore': '.git\nnode_modules\ndist\n*.db\n*.db-*\n',
    ...(database !== 'sqlite' && { 'compose.yaml': compose(name, database) }),
    'README.md': readme(name, group, database),
  };
}

function manifest(name: string, database: Database) {
  const { files: _, scripts, devDependencies, ...plugin } = pluginManifest(name, own);
  const { kindred, ...forDevelopment } = devDependencies;
  const forDatabase = database === 'sqlite' ? {} : driverOf(database);
  return {
    ...plugin,
    engines: { node: own.engines.node },
    scripts: {
      dev: 'kindred serve --config kindred.yaml --insecure-no-auth --dev',
      prestart: 'npm run build',
      start: 'kindred serve --config kindred.yaml',
      build: scripts.build,
      test: scripts.test,
      typecheck: scripts.typecheck,
    },
    dependencies: { kindred, ...forDatabase },
    devDependencies: forDevelopment,
  };
}

function driverOf(database: Exclude<Database, 'sqlite'>): Record<string, string> {
  const { driver } = databases[database];
  return { [driver]: own.peerDependencies[driver] };
}

function dockerfile(database: Database): string {
  const volume =
    database === 'sqlite'
      ? `# The file is in the volume. This wins over "database" in kindred.yaml.
ENV KINDRED_DATABASE=sqlite:/data/kindred.db
RUN mkdir /data && chown node:node /data
VOLUME /data
`
      : '';
  return `# syntax=docker/dockerfile:1
FROM node:26-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:26-slim
ENV NODE_ENV=production KINDRED_HOST=0.0.0.0
# Keeps memory small: glibc gives back what is freed, and all threads share what is free.
ENV MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=400000 MALLOC_TRIM_THRESHOLD_=1048576
${volume}WORKDIR /app
COPY --from=build /app ./
USER node
EXPOSE 8090
HEALTHCHECK --start-period=60s CMD ["node", "--eval", "fetch('http://127.0.0.1:8090/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Not through npm, which would keep the signal to stop from the service.
CMD ["node", "--max-semi-space-size=8", "node_modules/kindred/dist/cli/main.js", "serve", "--config", "kindred.yaml"]
`;
}

function compose(name: string, database: Exclude<Database, 'sqlite'>): string {
  const { image, data, variables, ready, port, url } = databases[database];
  const environment = Object.entries(variables(name)).map(([key, value]) => `      ${key}: "${value}"\n`);
  return `# "docker compose up database" for development; "docker compose up" for everything. The passwords are for this machine only.
services:
  database:
    image: ${image}
    environment:
${environment.join('')}    ports: ["127.0.0.1:${port}:${port}"]
    volumes: ["database:${data}"]
    healthcheck:
      test: ["CMD-SHELL", "${ready(name)}"]
      interval: 2s
      retries: 30
  service:
    build: .
    environment:
      KINDRED_DATABASE: "${url(name).replace('127.0.0.1', 'database')}"
    ports: ["127.0.0.1:8090:8090"]
    read_only: true
    depends_on:
      database: { condition: service_healthy }
volumes:
  database:
`;
}

function readme(name: string, group: string, database: Database): string {
  const first = database === 'sqlite' ? '' : `${startDatabase}\n`;
  return `# ${name}

An application with Kindred: tasks at \`/apis/${group}/v1alpha1/tasks\`, counted at \`/apis/api.${group}/v1alpha1/tasks/-/summary\`.

\`\`\`
npm install
npm test              # builds the plugin and starts the service with it
${first}npm run dev           # without authentication, on this machine only; a changed source is loaded at once
npm start             # as in production; the first start prints the administrator's token
npm run typecheck
\`\`\`

With the service running:

\`\`\`
curl http://127.0.0.1:8090/apis/${group}/v1alpha1/tasks
npx kindred get tasks --watch
\`\`\`

| | |
|---|---|
| \`plugin.ts\` | what is registered when the service starts |
| \`task.ts\` | the model |
| \`controller.ts\` | what follows from a change of a task |
| \`endpoint.ts\` | a route of its own |
| \`extensions/\` | bundled objects |
| \`plugin.test.ts\` | the tests |
| \`kindred.yaml\` | the settings of the service |
| \`Dockerfile\`${database === 'sqlite' ? '' : ', `compose.yaml`'} | the image${database === 'sqlite' ? '; objects are kept in the volume `/data`' : ', and the database beside it'} |
`;
}
