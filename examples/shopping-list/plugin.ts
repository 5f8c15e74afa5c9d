import { definePlugin } from 'kindred';
import { Item } from './item.ts';

export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Item) });
