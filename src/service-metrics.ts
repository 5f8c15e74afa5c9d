/** What `/metrics` tells of the parts of a service (docs/reference/metrics.md); requests, commits and reconciles are observed where they happen. */
import type { Metrics } from './http/server/metrics.ts';
import type { McpEndpoint } from './mcp/endpoint.ts';
import type { PluginHost } from './plugin/host.ts';
import type { ModelStates } from './plugin/model-states.ts';
import type { IndexSnapshots } from './resource/index-snapshots.ts';
import type { StorePlace } from './resource/place.ts';
import type { ResourceRegistry } from './resource/registry.ts';
import type { MaybePromise } from './store/store.ts';
import type { Webhooks } from './webhook/webhooks.ts';

interface Measured {
  readonly resources: ResourceRegistry;
  readonly modelStates: ModelStates;
  readonly plugins: PluginHost;
  readonly webhooks: Webhooks;
  /** Undefined: agents are not served. */
  readonly agents: McpEndpoint | undefined;
}

export function measureService(metrics: Metrics, service: Measured): void {
  const { resources, modelStates, plugins, webhooks, agents } = service;
  metrics.gauge('kindred_objects', 'Stored objects by model', ['group', 'kind'], () =>
    resources.all().flatMap((resource) => {
      const { group, kind } = resource.scheme.groupVersionKind;
      return resource.memory.isElsewhere ? [] : [{ labels: { group, kind }, value: resource.size }];
    }),
  );
  metrics.gauge('kindred_index_build_progress', 'From 0 to 1; 1 when the indexes are built', ['group', 'kind'], () =>
    resources.state().map(({ group, kind, progress }) => ({ labels: { group, kind }, value: progress })),
  );
  metrics.gauge(
    'kindred_model_idle',
    '1 while the objects of the model are not in memory because nobody asks for them',
    ['group', 'kind'],
    () =>
      resources.all().map(({ memory, scheme: { groupVersionKind } }) => {
        const { group, kind } = groupVersionKind;
        return { labels: { group, kind }, value: memory.isIdle ? 1 : 0 };
      }),
  );
  metrics.gauge(
    'kindred_index_online_progress',
    'From 0 to 1, of indexes that are built while their model serves',
    ['group', 'kind', 'index'],
    () =>
      resources
        .state()
        .flatMap(({ group, kind, indexes }) =>
          indexes.map(({ name, progress }) => ({ labels: { group, kind, index: name }, value: progress })),
        ),
  );
  measureSnapshots(metrics, resources);
  metrics.gauge('kindred_model_problems', 'Stored objects that need repair', ['group', 'kind'], () =>
    resources.state().map(({ group, kind, problems }) => ({ labels: { group, kind }, value: problems.length })),
  );
  type Active = ReturnType<ModelStates['active']>[number];
  const ofActive = (of: (active: Active) => number) => () =>
    modelStates.active().map((active) => {
      const { group, kind } = active.scheme.groupVersionKind;
      return { labels: { group, kind }, value: of(active) };
    });
  metrics.gauge(
    'kindred_model_generation',
    'How often another contract of a model became active',
    ['group', 'kind'],
    ofActive(({ generation }) => generation),
  );
  metrics.gauge(
    'kindred_model_pending',
    '1 while this process declares another contract than the active one',
    ['group', 'kind'],
    ofActive(({ isActive }) => (isActive ? 0 : 1)),
  );
  const { places } = resources;
  const of = ({ name }: StorePlace) => ({ labels: { store: name } });
  // A store that cannot be reached has no sample. The others are still reported.
  const ofStore = (ask: (place: StorePlace) => MaybePromise<number>) => async () => {
    const asked = places.map(async (place) =>
      place.feed.reachable
        ? Promise.try(() => ask(place)).then(
            (value) => [{ ...of(place), value }],
            () => [],
          )
        : [],
    );
    return (await Promise.all(asked)).flat();
  };
  metrics.gauge('kindred_revision', 'Newest revision that this process reflects', ['store'], () =>
    places.map((place) => ({ ...of(place), value: place.feed.applied })),
  );
  metrics.gauge(
    'kindred_feed_lag_revisions',
    'Revisions that the database has and this process does not reflect yet',
    ['store'],
    ofStore(async ({ store, feed }) => Math.max(0, (await store.revision()) - feed.applied)),
  );
  metrics.gauge(
    'kindred_oldest_revision',
    'Oldest revision that a watch can resume after',
    ['store'],
    ofStore(({ store }) => store.oldest()),
  );
  metrics.gauge('kindred_store_reachable', '1 while the store answers', ['store'], () =>
    places.map((place) => ({ ...of(place), value: place.feed.reachable ? 1 : 0 })),
  );
  metrics.counter(
    'kindred_read_anew_total',
    'Full reloads from the store: the change log did not reach back far enough, or the database had another history',
    ['because', 'store'],
    () =>
      places.flatMap((place) =>
        Object.entries(place.feed.readAnew).map(([because, value]) => ({
          labels: { because, store: place.name },
          value,
        })),
      ),
  );
  metrics.gauge('kindred_writes_waiting', 'Writes that wait for a commit or are in one', ['store'], () =>
    places.map((place) => ({ ...of(place), value: place.queue.length })),
  );
  metrics.gauge('kindred_watches', 'Open watches', [], () => [{ value: resources.watches.size }]);
  if (agents) {
    metrics.gauge('kindred_agent_calls', 'Calls of agents under way', [], () => [{ value: agents.underWay }]);
  }
  metrics.gauge('kindred_live_page_rows', 'Rows of all live pages that are open', [], () => [
    { value: resources.livePages.rows },
  ]);
  metrics.gauge(
    'kindred_controller_queue',
    'Names that wait for a worker, or for their time',
    ['controller', 'state'],
    () =>
      plugins.controllers().flatMap(({ id, queueDepth, delayed, running }) =>
        Object.entries({ waiting: queueDepth, delayed, running }).map(([state, value]) => ({
          labels: { controller: id, state },
          value,
        })),
      ),
  );
  metrics.gauge('kindred_controller_retries', 'Calls that followed a failure of the same name', ['controller'], () =>
    plugins.controllers().map(({ id, retries }) => ({ labels: { controller: id }, value: retries })),
  );
  metrics.gauge(
    'kindred_controller_last_error',
    'When a call failed last, seconds since the epoch',
    ['controller'],
    () =>
      plugins
        .controllers()
        .flatMap(({ id, lastError }) =>
          lastError ? [{ labels: { controller: id }, value: lastError.time / 1000 }] : [],
        ),
  );
  measureWebhooks(metrics, webhooks);
  metrics.gauge('kindred_store', 'What the store says of itself', ['name', 'store'], () =>
    places.flatMap((place) =>
      Object.entries(place.store.describe()).flatMap(([name, value]) =>
        typeof value === 'number' ? [{ labels: { name, store: place.name }, value }] : [],
      ),
    ),
  );
}

function measureWebhooks(metrics: Metrics, webhooks: Webhooks): void {
  metrics.counter(
    'kindred_webhook_attempts_total',
    'Attempts at deliveries since this process delivers',
    ['webhook', 'outcome'],
    () =>
      webhooks
        .figures()
        .flatMap(({ webhook, attempts }) =>
          Object.entries(attempts).map(([outcome, value]) => ({ labels: { webhook, outcome }, value })),
        ),
  );
  metrics.gauge(
    'kindred_webhook_deliveries_waiting',
    'Deliveries that were read and are not accepted yet',
    ['webhook'],
    () => webhooks.figures().map(({ webhook, waiting }) => ({ labels: { webhook }, value: waiting })),
  );
  metrics.counter('kindred_webhook_deliveries_dropped_total', 'Deliveries that were given up', ['webhook'], () =>
    webhooks.figures().map(({ webhook, dropped }) => ({ labels: { webhook }, value: dropped })),
  );
}

function measureSnapshots(metrics: Metrics, resources: ResourceRegistry): void {
  const { places } = resources;
  if (!places.some(({ snapshots }) => snapshots)) return;
  const perModel = (of: (known: ReturnType<IndexSnapshots['describe']>) => number | undefined) => () =>
    resources.all().flatMap(({ memory, place: { snapshots }, scheme: { groupVersionKind } }) => {
      const value = snapshots && of(snapshots.describe(memory));
      const { group, kind } = groupVersionKind;
      return value === undefined ? [] : [{ labels: { group, kind }, value }];
    });
  metrics.gauge(
    'kindred_index_snapshot_bytes',
    'Size of the last snapshot of the indexes',
    ['group', 'kind'],
    perModel(({ bytes }) => bytes),
  );
  metrics.gauge(
    'kindred_index_snapshot_age_seconds',
    'Time since the last snapshot of the indexes was written',
    ['group', 'kind'],
    perModel(({ age }) => age && age / 1_000),
  );
  metrics.gauge(
    'kindred_index_snapshot_restore_seconds',
    'How long the start from a snapshot of the indexes took',
    ['group', 'kind'],
    perModel(({ restoreMs }) => restoreMs && restoreMs / 1_000),
  );
  metrics.gauge(
    'kindred_index_snapshot_shared_age_seconds',
    'Time since the snapshot was made that is in the database',
    ['group', 'kind'],
    perModel(({ sharedAge }) => sharedAge && sharedAge / 1_000),
  );
  metrics.counter(
    'kindred_index_snapshot_rejected_total',
    'Snapshots of the indexes that were not used, by why',
    ['reason', 'store'],
    () =>
      places.flatMap(({ name, snapshots }) =>
        [...(snapshots?.rejected ?? [])].map(([reason, value]) => ({
          labels: { reason, store: name },
          value,
        })),
      ),
  );
}
