/** The screens of the navigation. */
import { computed } from 'vue';
import type { IconName } from '../parts/icons.ts';
import { t } from '../text/index.ts';

interface Screen {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  readonly keys?: string;
}

export const screens = computed((): readonly Screen[] => {
  const { overview, models, plugins, access, webhooks, audit, settings, about } = t.value.frame;
  return [
    { path: '/', label: overview, icon: 'home', keys: 'g o' },
    { path: '/models', label: models, icon: 'box', keys: 'g m' },
    { path: '/plugins', label: plugins, icon: 'plug', keys: 'g p' },
    { path: '/access', label: access, icon: 'key', keys: 'g a' },
    { path: '/webhooks', label: webhooks, icon: 'send' },
    { path: '/audit', label: audit, icon: 'log' },
    { path: '/settings', label: settings, icon: 'settings' },
    { path: '/about', label: about, icon: 'info' },
  ];
});
