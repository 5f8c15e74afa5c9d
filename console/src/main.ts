import { VueQueryPlugin } from '@tanstack/vue-query';
import { createApp } from 'vue';
import { loadRouteLocation } from 'vue-router';
import App from './App.vue';
import { modelQuery } from './api/models.ts';
import { queryClient } from './api/queries.ts';
import { hasCode, startSession } from './api/session.ts';
import { router } from './router.ts';
import { startLook } from './style/look.ts';
import './style/tokens.css';
import './style/base.css';
import './style/menu.css';
import { startLanguage } from './text/index.ts';

/** On a slow line each request that waits for another is felt: what the address needs is asked for beside the session. */
function prefetch(): void {
  const here = router.resolve(router.options.history.location);
  // The router loads it too, and fails then.
  void loadRouteLocation(here).catch(() => undefined);
  const { type } = here.params;
  if (typeof type === 'string' && !hasCode) void queryClient.prefetchQuery(modelQuery(type));
}

/** Not at the top level of the module: screens import what is beside it, and would wait for it. */
async function start(): Promise<void> {
  startLook();
  const language = startLanguage();
  prefetch();
  await Promise.all([language, startSession()]);
  const app = createApp(App).use(router).use(VueQueryPlugin, { queryClient });
  // Which screen it is decides whether the frame is around it, and the frame asks the service.
  await router.isReady();
  app.mount('#app');
}

void start();
