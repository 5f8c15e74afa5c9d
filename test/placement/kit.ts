/** A service over two stores, with a model in each, and what tests ask of it. */
import assert from 'node:assert/strict';
import type { Service, ServiceOptions } from 'kindred';
import { createService, defineModel, Type } from 'kindred';
import pino from 'pino';
import { move } from '../../src/maintenance.ts';
import type { TestAdapter, TestDatabase } from '../servers.ts';

export const Site = defineModel({
  gvk: { group: 'plants.example.com', version: 'v1', kind: 'Site', singular: 'site', plural: 'sites' },
  spec: Type.Object({ city: Type.String() }),
  indexes: (index) => [index.single('spec.city', String, (site) => site.spec.city, { unique: true })],
});

export const Reading = defineModel({
  gvk: { group: 'telemetry.example.com', version: 'v1', kind: 'Reading', singular: 'reading', plural: 'readings' },
  spec: Type.Object({ sensor: Type.String(), value: Type.Optional(Type.Number()) }),
  indexes: (index) => [index.single('spec.sensor', String, (reading) => reading.spec.sensor, { unique: true })],
});

export const sites = '/apis/plants.example.com/v1/sites';
export const readings = '/apis/telemetry.example.com/v1/readings';

export const rule = { model: 'readings.telemetry.example.com', store: 'telemetry' };

const cleanUps: (() => Promise<unknown>)[] = [];

/** For what a test made: undone by `cleanUp`, the latest first. */
export function atEnd(undo: () => Promise<unknown>): void {
  cleanUps.push(undo);
}

export async function cleanUp(): Promise<void> {
  for (const one of cleanUps.splice(0).reverse()) await one();
}

export interface Databases {
  readonly main: TestDatabase;
  readonly telemetry: TestDatabase;
}

export async function databases(adapter: TestAdapter): Promise<Databases> {
  const [main, telemetry] = [await adapter.create(), await adapter.create()];
  atEnd(() => Promise.all([main.drop(), telemetry.drop()]));
  return { main, telemetry };
}

/** With `Reading` in the store `telemetry`. */
export function placed({ main, telemetry }: { main: { url: string }; telemetry: { url: string } }): ServiceOptions {
  return { database: main.url, stores: { telemetry: { database: telemetry.url } }, placement: [rule] };
}

/** Both stores, without a rule. */
export function unplaced({ main, telemetry }: Databases): ServiceOptions {
  return { database: main.url, stores: { telemetry: { database: telemetry.url } } };
}

/** Of a move of the readings. */
export const moving = (both: Databases) => ({ model: rule.model, ...unplaced(both), settling: 50 });

/** Moves the readings until the first progress of a step. */
export async function stopMove(both: Databases, step: string, to = 'telemetry'): Promise<void> {
  const abort = new AbortController();
  const stopped = move({
    ...moving(both),
    to,
    signal: abort.signal,
    onProgress: (progress) => {
      if (progress.step === step) abort.abort(new Error('stopped'));
    },
  });
  await assert.rejects(stopped, /stopped/);
}

export interface Running {
  readonly service: Service;
  readonly url: string;
  stop(): Promise<void>;
}

export async function running(options: ServiceOptions, models: readonly object[] = [Site, Reading]): Promise<Running> {
  const service = await createService({ port: 0, auth: false, logger: pino({ level: 'silent' }), ...options });
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= service.stop());
  atEnd(stop);
  for (const model of models) service.schemeManager.register(model as typeof Site);
  const { url } = await service.start().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { service, url, stop };
}

export interface Answer {
  readonly status: number;
  readonly revision: number;
  readonly body: any;
}

export async function call({ url }: Running, path: string, method = 'GET', json?: unknown): Promise<Answer> {
  const headers = json === undefined ? {} : { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(20_000);
  const response = await fetch(url + path, {
    signal,
    method,
    headers,
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  const text = await response.text();
  const body = text.startsWith('{') ? JSON.parse(text) : text;
  return { status: response.status, revision: Number(response.headers.get('kindred-revision')), body };
}

export const makeSite = (at: Running, name: string, city = name): Promise<Answer> =>
  call(at, sites, 'POST', { metadata: { name }, spec: { city } });

export const makeReading = (at: Running, name: string, sensor = name): Promise<Answer> =>
  call(at, readings, 'POST', { metadata: { name }, spec: { sensor } });
