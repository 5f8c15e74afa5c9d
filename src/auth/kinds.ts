/** The names of the models that the command line asks for too; `models.ts` declares them. */
const own = { group: '', version: 'v1alpha1' };

export const userKind = { ...own, kind: 'User', singular: 'user', plural: 'users' };
export const roleBindingKind = { ...own, kind: 'RoleBinding', singular: 'rolebinding', plural: 'rolebindings' };
export const tokenKind = {
  ...own,
  kind: 'PersonalAccessToken',
  singular: 'personalaccesstoken',
  plural: 'personalaccesstokens',
};
