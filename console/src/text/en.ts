/** Every text of the console, and the shape that each other language has to have. `{name}` is filled by `f`. */
import type { Plural } from './fill.ts';

export const en = {
  frame: {
    skip: 'Skip to content',
    main: 'Main',
    menu: 'Menu',
    overview: 'Overview',
    models: 'Models',
    plugins: 'Plugins',
    access: 'Access',
    webhooks: 'Webhooks',
    audit: 'Audit log',
    settings: 'Settings',
    about: 'About',
    service: 'Service',
    search: 'Search or jump to…',
    notifications: 'Notifications',
    dismiss: 'Dismiss',
    noAuthentication: 'Authentication is off',
    noAuthenticationMore: 'Everybody who reaches this address may do everything.',
    offline: 'The service does not answer. What you see is the last that it sent; it comes back by itself.',
  },
  connection: {
    name: 'Connection',
    live: 'Live',
    polling: 'Every 10 s',
    paused: 'Paused',
    reconnecting: 'Reconnecting',
    offline: 'Offline',
  },
  account: {
    name: 'Account',
    language: 'Language',
    theme: 'Theme',
    systemTheme: 'System theme',
    lightTheme: 'Light theme',
    darkTheme: 'Dark theme',
    density: 'Rows',
    comfortable: 'Comfortable',
    compact: 'Compact',
    singleKeys: 'Single-key shortcuts',
    shortcuts: 'Keyboard shortcuts',
    signOut: 'Sign out',
  },
  signIn: {
    title: 'Sign in to Kindred',
    token: 'Token',
    hint: 'The administrator token of the first start, or one that “kindred token create --user NAME” makes. This page does not keep it.',
    submit: 'Sign in',
    with: 'Sign in with {issuer}',
    usingLink: 'Signing in with the link…',
  },
  common: {
    close: 'Close',
    cancel: 'Cancel',
    retry: 'Retry',
    copy: 'Copy',
    copied: 'Copied',
    copyDetails: 'Copy details',
    request: 'Request',
    loading: 'Loading…',
    notAllowed: 'Not allowed',
    notAllowedText: 'You may not {verb} {type}.',
    why: 'Why?',
    notFound: 'Not found',
    pageNotFound: 'There is no such page.',
    noModel: 'There is no model “{type}”, or you may not see it. A plugin that declares it may be stopped.',
    seePlugins: 'See the plugins',
    retryIn: 'Trying again in {n} s',
    ignoredParameters: 'The address has parameters that this page does not know: {names}',
    more: 'More',
    yes: 'Yes',
    no: 'No',
    none: 'None',
    never: 'Never',
  },
} as const satisfies Tree;

interface Tree {
  readonly [name: string]: string | Plural | Tree;
}

type Shape<T> = T extends string ? string : T extends Plural ? Plural : { readonly [K in keyof T]: Shape<T[K]> };

export type Catalogue = Shape<typeof en>;
