/** Label and annotation keys of roles (docs/reference/permissions.md); the reserved domain is an option. */

export interface RoleKeys {
  /** Annotation: a JSON list of role names whose rules count too. */
  readonly dependencies: string;
  /** Label `<prefix><role>: "true"`: the rules count in that role too. */
  readonly aggregateTo: string;
  /** Label `"true"` on the roles made for each model. */
  readonly template: string;
  /** Annotation of those: `<plural>.<group>` of the model; only the service writes it. */
  readonly templateOf: string;
}

export function roleKeys(reservedDomain: string): RoleKeys {
  return {
    dependencies: `rbac.${reservedDomain}/dependencies`,
    aggregateTo: `rbac.${reservedDomain}/aggregate-to-`,
    template: `rbac.${reservedDomain}/role-template`,
    templateOf: `rbac.${reservedDomain}/model`,
  };
}
