/** The addresses of the console, one line each. */
import { nextTick } from 'vue';
import type { RouteRecordRaw } from 'vue-router';
import { createRouter, createWebHistory } from 'vue-router';
import { isSignedIn } from './api/session.ts';
import { rememberPlaces, returnToPlace } from './parts/places.ts';
import { rememberRoute } from './parts/recent.ts';
import ListScreen from './screens/list/ListScreen.vue';

declare module 'vue-router' {
  interface RouteMeta {
    /** Query parameters that the screen knows; any other is named in a notice. */
    readonly parameters?: readonly string[];
    /** Without the frame, for who is not signed in. */
    readonly bare?: true;
  }
}

const selectors = ['fieldSelector', 'labelSelector'];

const routes: RouteRecordRaw[] = [
  {
    path: '/sign-in',
    component: () => import('./screens/sign-in/SignInScreen.vue'),
    meta: { bare: true, parameters: ['return', 'refused', 'request'] },
  },
  {
    path: '/',
    component: () => import('./screens/overview/OverviewScreen.vue'),
    meta: { parameters: ['range'] },
  },
  {
    path: '/objects/:type',
    name: 'list',
    component: ListScreen,
    props: true,
    meta: { parameters: [...selectors, 'sort', 'page', 'size', 'columns', 'live', 'view', 'explain'] },
  },
  {
    // Of a namespaced model, the name is `<namespace>/<name>`.
    path: '/objects/:type/:name([^/]+|[^/]+/[^/]+)',
    component: () => import('./screens/object/ObjectScreen.vue'),
    props: true,
    meta: { parameters: ['tab'] },
  },
  {
    path: '/create/:type',
    component: () => import('./screens/create/CreateScreen.vue'),
    props: true,
    meta: { parameters: ['tab', 'from'] },
  },
  { path: '/import', component: () => import('./screens/import/ImportScreen.vue') },
  { path: '/models', component: () => import('./screens/models/ModelsScreen.vue') },
  {
    path: '/models/:type',
    component: () => import('./screens/models/ModelScreen.vue'),
    props: true,
    meta: { parameters: ['tab'] },
  },
  {
    path: '/watch/:type',
    component: () => import('./screens/watch/WatchScreen.vue'),
    props: true,
    meta: { parameters: [...selectors, 'since'] },
  },
  { path: '/plugins', component: () => import('./screens/plugins/PluginsScreen.vue') },
  {
    path: '/plugins/:name',
    component: () => import('./screens/plugins/PluginScreen.vue'),
    props: true,
    meta: { parameters: ['tab'] },
  },
  { path: '/access', redirect: '/access/users' },
  { path: '/access/users', component: () => import('./screens/access/UsersScreen.vue') },
  { path: '/access/roles', component: () => import('./screens/access/RolesScreen.vue') },
  {
    path: '/access/bindings',
    component: () => import('./screens/access/BindingsScreen.vue'),
    meta: { parameters: ['user'] },
  },
  {
    path: '/access/tokens',
    component: () => import('./screens/access/TokensScreen.vue'),
    meta: { parameters: ['user'] },
  },
  {
    path: '/access/explain',
    component: () => import('./screens/access/ExplainScreen.vue'),
    meta: { parameters: ['user', 'verb', 'type', 'name', 'path'] },
  },
  { path: '/webhooks', component: () => import('./screens/webhooks/WebhooksScreen.vue') },
  { path: '/webhooks/:name', component: () => import('./screens/webhooks/WebhookScreen.vue'), props: true },
  {
    path: '/audit',
    component: () => import('./screens/audit/AuditScreen.vue'),
    meta: { parameters: ['identity', 'type', 'name', 'verb', 'outcome'] },
  },
  { path: '/settings', component: () => import('./screens/settings/SettingsScreen.vue') },
  { path: '/about', component: () => import('./screens/about/AboutScreen.vue') },
  { path: '/:path(.*)*', component: () => import('./screens/missing/MissingScreen.vue') },
];

export const router = createRouter({
  history: createWebHistory('/console/'),
  routes,
});

router.beforeEach((to) => {
  if (to.meta.bare || isSignedIn.value) return true;
  return { path: '/sign-in', query: to.fullPath === '/' ? {} : { return: to.fullPath } };
});

router.afterEach((to, _from, failure) => {
  if (!failure) rememberRoute(to);
});

rememberPlaces(router);

// Who comes back is led to where they were. Else the heading of the new screen says where the reader is; the first screen
// leaves the focus where the browser put it.
router.afterEach(async (to, from, failure) => {
  if (failure || from.matched.length === 0) return;
  await nextTick();
  if (returnToPlace() || to.path === from.path) return;
  document.querySelector<HTMLElement>('main h1')?.focus();
});
