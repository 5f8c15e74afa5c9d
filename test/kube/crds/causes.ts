/**
 * Why each sample of a folder of definitions is refused, by project and file: the field, and the text of Kubernetes for it. They are
 * worked out from the definitions. Samples that name their cause themselves, in `_err`, are not here.
 */
const pattern = 'should match';
const port = 'in body should be less than or equal to 65535';
const redirectWithBackends =
  'spec.rules[0]: Invalid value: "object": RequestRedirect filter must not be used together with backendRefs';
const withoutPort = 'spec.rules[0].backendRefs[0]: Invalid value: "object": Must have port for Service reference';
const noModifier =
  'spec.rules[0].filters[0]: Invalid value: "object": filter.requestHeaderModifier must be specified for RequestHeaderModifier filter.type';
const characters =
  'spec.rules[0].matches[0].path: Invalid value: "object": must only contain valid characters (matching ';
const noHostname = `spec.listeners: Invalid value: "array": hostname must not be specified for protocols ['TCP', 'UDP']`;

export const causes: Readonly<Record<string, readonly string[]>> = {
  'crossplane/xrd-invalid': ['spec.claimNames: Invalid value: "object": Plural name must be lowercase'],
  'gateway/gateway_duplicate-listeners': [
    'spec.listeners[1]: Duplicate value: {"name":"same"}',
    'spec.listeners: Invalid value: "array": Listener name must be unique within the Gateway',
  ],
  'gateway/gateway_hostname-tcp': [noHostname],
  'gateway/gateway_hostname-udp': [noHostname],
  'gateway/gateway_invalid-addresses': [
    ...Array.from(
      { length: 9 },
      (_, at) =>
        `spec.addresses[${at}]: Invalid value: "object": spec.addresses[${at}] in body must validate one and only one schema (oneOf)`,
    ),
    'spec.addresses[9]: Invalid value: "object": Hostname value must be empty or contain only valid characters (matching ',
  ],
  'gateway/gateway_invalid-listener-name': [`spec.listeners[0].name in body ${pattern}`],
  'gateway/gateway_invalid-listener-port': [
    `spec.listeners[0].port: Invalid value: 123456789: spec.listeners[0].port ${port}`,
  ],
  'gateway/gateway_invalid-tls-mode': [
    'spec.listeners: Invalid value: "array": tls mode must be Terminate for protocol HTTPS',
  ],
  'gateway/gateway_tlsconfig-tcp': [
    `spec.listeners: Invalid value: "array": tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']`,
  ],
  'gateway/gatewayclass_invalid-controller': [
    `spec.controllerName: Invalid value: "example": spec.controllerName in body ${pattern}`,
  ],
  'gateway/httproute_duplicate-header-match': ['spec.rules[0].matches[0].headers[1]: Duplicate value: {"name":"foo"}'],
  'gateway/httproute_duplicate-query-match': [
    'spec.rules[0].matches[0].queryParams[1]: Duplicate value: {"name":"foo"}',
  ],
  'gateway/httproute_httproute-portless-backend': [withoutPort],
  'gateway/httproute_httproute-portless-service': [withoutPort],
  'gateway/httproute_invalid-backend-group': [`spec.rules[0].backendRefs[0].group in body ${pattern}`],
  'gateway/httproute_invalid-backend-kind': [`spec.rules[0].backendRefs[0].kind in body ${pattern}`],
  'gateway/httproute_invalid-backend-port': [
    `spec.rules[0].backendRefs[0].port: Invalid value: 800080: spec.rules[0].backendRefs[0].port ${port}`,
  ],
  'gateway/httproute_invalid-filter-duplicate-header': [
    'spec.rules[0].filters[0].requestHeaderModifier.remove[1]: Duplicate value: "foo"',
  ],
  'gateway/httproute_invalid-filter-duplicate': [
    'spec.rules[0].filters: Invalid value: "array": RequestHeaderModifier filter cannot be repeated',
  ],
  'gateway/httproute_invalid-filter-empty': [noModifier],
  'gateway/httproute_invalid-filter-wrong-field': [
    noModifier,
    'spec.rules[0].filters[0]: Invalid value: "object": filter.requestRedirect must be nil if the filter.type is not RequestRedirect',
  ],
  'gateway/httproute_invalid-header-name': [`spec.rules[0].matches[0].headers[0].name in body ${pattern}`],
  'gateway/httproute_invalid-hostname': [`spec.hostnames[0] in body ${pattern}`, withoutPort],
  'gateway/httproute_invalid-httpredirect-hostname': [
    `spec.rules[0].filters[0].requestRedirect.hostname in body ${pattern}`,
    redirectWithBackends,
  ],
  'gateway/httproute_invalid-method': [
    'spec.rules[0].matches[0].method: Unsupported value: "NOTREAL": supported values: "GET", "HEAD"',
    '<nil>: Invalid value: "null": some validation rules were not checked because the object was invalid',
  ],
  'gateway/httproute_invalid-path-alphanum-specialchars-mix': [characters],
  'gateway/httproute_invalid-path-specialchars': [characters],
  'gateway/httproute_invalid-request-redirect-with-backendref': [redirectWithBackends],
  'gateway/referencegrant_missing-from': ['spec.from: Required value'],
  'gateway/referencegrant_missing-ns': ['spec.from[0].namespace: Required value'],
  'gateway/referencegrant_missing-to': ['spec.to: Required value'],
};
