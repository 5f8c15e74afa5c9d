import type { KindredClient, ListResult } from 'kindred/client';
import { apply, createClient, KindredError } from 'kindred/client';
import { Item } from './item.ts';

/** `?service=` of the page's address says where the service is. */
const url = new URLSearchParams(location.search).get('service') ?? 'http://127.0.0.1:8090';
const tokenKey = 'shopping-list.token';

function find<E extends Element>(selector: string): E {
  const found = document.querySelector<E>(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return found;
}
const message = find<HTMLElement>('#message');
const signIn = find<HTMLFormElement>('#sign-in');
const shopping = find<HTMLElement>('#shopping');
const add = find<HTMLFormElement>('#add');
const list = find<HTMLUListElement>('#shopping ul');
const total = find<HTMLElement>('#total');
const previous = find<HTMLButtonElement>('#previous');
const next = find<HTMLButtonElement>('#next');

/** What the page shows, and the end of it; undefined while nobody is signed in. */
let shown: { readonly client: KindredClient; page: number; ended: AbortController } | undefined;

/** Shows one page of the list, and every change of it by anybody, until something else is shown. */
async function show(client: KindredClient, number: number): Promise<void> {
  shown?.ended.abort();
  const ended = new AbortController();
  shown = { client, page: number, ended };
  let page: ListResult<Item> | undefined;
  const query = { sort: ['spec.bought', 'spec.name'] as const, page: number, size: 10 };
  try {
    // Goes on by itself after a broken connection or a restart of the service.
    for await (const event of client.for(Item).watchPage(query, undefined, { signal: ended.signal })) {
      page = apply(page, event);
      if (!page || ended.signal.aborted) continue;
      signIn.hidden = true;
      shopping.hidden = false;
      draw(page);
    }
  } catch (error) {
    if (shown?.ended !== ended) return;
    signOut();
    report(error);
  }
}

function draw(page: ListResult<Item>): void {
  const focused = document.activeElement;
  const rows = new Map([...list.children].map((row) => [row.id, row]));
  for (const [i, item] of page.items.entries()) {
    const row = rows.get(item.metadata.name) ?? newRow(item.metadata.name);
    rows.delete(item.metadata.name);
    row.querySelector('span')!.textContent = `${item.spec.name} × ${item.spec.amount}`;
    row.querySelector('input')!.checked = item.spec.bought;
    row.querySelector('button')!.ariaLabel = `Remove ${item.spec.name}`;
    if (list.children[i] !== row) list.insertBefore(row, list.children[i] ?? null);
  }
  for (const row of rows.values()) row.remove();
  // A row that moves loses the focus.
  if (focused instanceof HTMLElement && list.contains(focused)) focused.focus();
  total.textContent = page.total === 1 ? '1 item' : `${page.total} items`;
  previous.disabled = !page.hasPrevious;
  next.disabled = !page.hasNext;
}

function newRow(name: string): HTMLLIElement {
  const row = document.createElement('li');
  row.id = name;
  const label = document.createElement('label');
  const bought = document.createElement('input');
  bought.type = 'checkbox';
  bought.addEventListener('change', async () => {
    const wanted = bought.checked;
    const isStored = await write((items) => items.patch(name, { spec: { bought: wanted } }));
    if (!isStored) bought.checked = !wanted;
  });
  label.append(bought, document.createElement('span'));
  const remove = document.createElement('button');
  remove.textContent = 'Remove';
  remove.addEventListener('click', () => write((items) => items.delete(name)));
  row.append(label, remove);
  return row;
}

const itemsOf = (client: KindredClient) => client.for(Item);

/** Whether the change was stored; if not, the page says why. */
async function write(change: (items: ReturnType<typeof itemsOf>) => Promise<unknown>): Promise<boolean> {
  if (!shown) return false;
  message.textContent = '';
  try {
    await change(itemsOf(shown.client));
    return true;
  } catch (error) {
    report(error);
    return false;
  }
}

/** Says what the service said: of an object that it refused, what is wrong with each member. */
function report(error: unknown): void {
  if (!(error instanceof KindredError)) throw error;
  const { errors = [] } = error.problem() as { errors?: { pointer: string; message: string }[] };
  message.textContent =
    errors.length > 0 ? errors.map((one) => `${one.pointer.slice(1)} ${one.message}`).join('; ') : error.message;
}

function enter(token: string): void {
  void show(createClient({ url, token }), 1);
}

function signOut(): void {
  shown?.ended.abort();
  shown = undefined;
  sessionStorage.removeItem(tokenKey);
  list.replaceChildren();
  shopping.hidden = true;
  signIn.hidden = false;
}

signIn.addEventListener('submit', (event) => {
  event.preventDefault();
  message.textContent = '';
  const token = String(new FormData(signIn).get('token'));
  sessionStorage.setItem(tokenKey, token);
  signIn.reset();
  enter(token);
});
add.addEventListener('submit', async (event) => {
  event.preventDefault();
  const input = new FormData(add);
  const amount = String(input.get('amount'));
  // Members with a default may be left out.
  const spec = { name: String(input.get('name')), ...(amount !== '' && { amount: Number(amount) }) };
  if (await write((items) => items.create({ metadata: { generateName: 'item-' }, spec }))) add.reset();
});
previous.addEventListener('click', () => shown && void show(shown.client, shown.page - 1));
next.addEventListener('click', () => shown && void show(shown.client, shown.page + 1));
find('#sign-out').addEventListener('click', signOut);

const token = sessionStorage.getItem(tokenKey);
if (token !== null) enter(token);
