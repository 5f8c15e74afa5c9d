import { VueQueryPlugin } from '@tanstack/vue-query';
import { createApp } from 'vue';
import type { LocationQuery } from 'vue-router';
import { loadRouteLocation } from 'vue-router';
import App from './App.vue';
import type { ModelDetails } from './api/models.ts';
import { mayList, modelQuery, typeOf } from './api/models.ts';
import { queryClient } from './api/queries.ts';
import { hasCode, startSession } from './api/session.ts';
import { notify } from './parts/notices.ts';
import { router } from './router.ts';
import { addressOf, queryOf } from './screens/list/address.ts';
import { pageKey, readPage } from './screens/list/page.ts';
import { startLook } from './style/look.ts';
import './style/tokens.css';
import './style/base.css';
import './style/menu.css';
import { startLanguage, t } from './text/index.ts';

/** Milliseconds in which the screen that wants the page has to be there. */
const pagePatience = 10_000;

/** On a slow line each request that waits for another is felt: what the address needs is asked for beside the session. */
function prefetch(): void {
  const here = router.resolve(router.options.history.location);
  // The router loads it too, and fails then.
  void loadRouteLocation(here).catch(() => undefined);
  const { type } = here.params;
  if (typeof type !== 'string' || hasCode) return;
  const model = queryClient.fetchQuery(modelQuery(type));
  // The screen asks again, and shows what is wrong.
  void (here.name === 'list' ? model.then((of) => prefetchPage(of, here.query)) : model).catch(() => undefined);
}

/** The first page of a list, while the screen is being made. */
function prefetchPage(model: ModelDetails, address: LocationQuery): Promise<void> | undefined {
  if (!mayList(model)) return undefined;
  const query = queryOf(addressOf(address));
  return queryClient.prefetchQuery({
    queryKey: pageKey(typeOf(model), query),
    queryFn: ({ signal }) => readPage(model, query, signal),
    gcTime: pagePatience,
  });
}

/** Not at the top level of the module: screens import what is beside it, and would wait for it. */
async function start(): Promise<void> {
  startLook();
  // After an upgrade, the service no longer has the files of a console that was open before.
  window.addEventListener('vite:preloadError', () => notify(t.value.frame.partMissing, 'failed'));
  const language = startLanguage();
  prefetch();
  await Promise.all([language, startSession()]);
  const app = createApp(App).use(router).use(VueQueryPlugin, { queryClient });
  // Which screen it is decides whether the frame is around it, and the frame asks the service.
  await router.isReady();
  app.mount('#app');
}

void start();
