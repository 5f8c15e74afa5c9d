/** Named filters, sorts and columns of a list, kept in this browser. */
export interface View {
  readonly name: string;
  /** The parameters of the list's address. */
  readonly query: string;
}

const key = (type: string) => `kindred-views:${type}`;

export function viewsOf(type: string): View[] {
  try {
    const views: unknown = JSON.parse(localStorage.getItem(key(type)) ?? '[]');
    return Array.isArray(views) ? views.filter((view) => typeof view?.name === 'string') : [];
  } catch {
    return [];
  }
}

export function saveView(type: string, view: View): void {
  const others = viewsOf(type).filter(({ name }) => name !== view.name);
  const views = [...others, view].sort((a, b) => a.name.localeCompare(b.name));
  localStorage.setItem(key(type), JSON.stringify(views));
}

export function deleteView(type: string, name: string): void {
  localStorage.setItem(key(type), JSON.stringify(viewsOf(type).filter((view) => view.name !== name)));
}
