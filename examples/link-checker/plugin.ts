import { definePlugin } from 'kindred';
import type { LinkCheckerConfig } from './controller.ts';
import { LinkController } from './controller.ts';
import { Link } from './link.ts';

/** @param now milliseconds since the epoch; tests hand in a fake time */
export function linkChecker(now: () => number = Date.now): object {
  return definePlugin({
    start({ schemeManager, registerController, client, config }) {
      schemeManager.register(Link);
      registerController(new LinkController(client, (config ?? {}) as LinkCheckerConfig, now));
    },
  });
}

export default linkChecker();
