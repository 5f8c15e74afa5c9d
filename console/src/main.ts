import { VueQueryPlugin } from '@tanstack/vue-query';
import { createApp } from 'vue';
import App from './App.vue';
import { queryClient } from './api/queries.ts';
import { startSession } from './api/session.ts';
import { router } from './router.ts';
import { startLook } from './style/look.ts';
import './style/tokens.css';
import './style/base.css';
import './style/menu.css';
import { startLanguage } from './text/index.ts';

startLook();
await startLanguage();
await startSession();
const app = createApp(App).use(router).use(VueQueryPlugin, { queryClient });
// Which screen it is decides whether the frame is around it, and the frame asks the service.
await router.isReady();
app.mount('#app');
