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
createApp(App).use(router).use(VueQueryPlugin, { queryClient }).mount('#app');
