/**
 * The rows of the specification, once, by hand. A test proves a row when its title is `spec: <section> - <text>` with
 * the section given here and a text that `match` finds; `<page>: …` titles, of a page of docs/reference/, count where `match` says so in full.
 */
export interface SpecRow {
  readonly row: string;
  /** Number of the issue that closes the row. */
  readonly issue: number;
  /** Found in the text after `spec: <section> - `; with `^` and a page, or `spec:`, in it, in a whole title. */
  readonly match: RegExp;
}

export interface SpecSection {
  readonly section: string;
  /** Names of its tables, which titles may use instead; the text then counts as beginning with what stands here. */
  readonly tables?: Readonly<Record<string, string>>;
  readonly rows: readonly SpecRow[];
}

const row = (text: string, issue: number, match: RegExp): SpecRow => ({ row: text, issue, match });

export const specSections: readonly SpecSection[] = [
  {
    section: 'What the service does',
    rows: [
      row(
        'a plugin declares a model and registers it; storage, validation, indexes and CRUD API follow',
        2,
        /declares a model|registers/i,
      ),
      row('storage is medium-independent', 4, /medium|databases?/i),
      row(
        'only indexed fields can be queried or sorted on',
        2,
        /only indexed fields|^lists: .*(not an index|no index)/i,
      ),
      row(
        'controllers maintain the status; registration alone implements no behaviour',
        5,
        /controllers? maintain|status/i,
      ),
    ],
  },
  {
    section: 'Model definition',
    tables: { 'GVK attributes': '' },
    rows: [
      row('a type that extends AbstractExtension with a GVK annotation', 2, /AbstractExtension|annotation|class form/i),
      row('registration in start(), with a callback that adds index specifications', 2, /callback|register/i),
      row('stop() may unregister a scheme built from the type', 2, /unregister|buildFromType/i),
      row('group', 2, /^group\b/i),
      row('group: empty and .platform.run are reserved', 2, /reserved/i),
      row('version', 2, /^version\b/i),
      row('kind', 2, /^kind\b/i),
      row('singular', 2, /singular/i),
      row('plural', 2, /plural/i),
    ],
  },
  {
    section: 'Top-level structure of an object',
    rows: [
      row('apiVersion', 2, /apiVersion|^objects: apiVersion and kind/),
      row('kind', 2, /\bkind\b|^objects: apiVersion and kind/),
      row('metadata', 2, /metadata/),
      row('spec', 2, /\bspec\b/),
      row('status', 2, /\bstatus\b/),
    ],
  },
  {
    section: 'Metadata',
    rows: [
      row('name', 2, /^name\b/),
      row('creationTimestamp', 2, /creationTimestamp|timestamps|^api: POST ignores the version and the timestamps/),
      row('version', 2, /^version\b|optimistic/),
      row('deletionTimestamp', 2, /deletionTimestamp|timestamps|^objects: DELETE without finalizers/),
      row('finalizers', 2, /finalizers/),
      row('labels', 2, /labels/),
      row('annotations', 2, /annotations/),
    ],
  },
  {
    section: 'Naming rules',
    rows: [
      row('metadata.name: at most 253 characters', 2, /metadata\.name/),
      row('metadata.name: lower-case letters, digits and "-"', 2, /lower-case letters, digits/i),
      row(
        'metadata.name: starts and ends with a letter or a digit',
        2,
        /metadata\.name .*(starts|begins|at both ends)/,
      ),
      row('keys: prefix is an optional DNS sub-domain of at most 253 characters', 2, /prefix.*(253|DNS|sub-domain)/i),
      row('keys: without a prefix or with a reserved one, not for plugins', 2, /reserved|without a prefix/i),
      row('keys: name part of at most 63 characters', 2, /name part/i),
    ],
  },
  {
    section: 'Schema constraints on model fields',
    tables: { 'Schema constraints': '' },
    rows: [
      row('the model becomes a JSON Schema', 2, /JSON Schema|every attribute of a field/i),
      row('description', 2, /description/),
      row('example', 2, /example/),
      row('requiredMode', 2, /requiredMode|required/i),
      row('minLength / maxLength', 2, /minLength|maxLength/),
      row('minimum / maximum', 2, /minimum|maximum/),
      row('format', 2, /format/),
      row('enumerated types', 2, /enum/i),
      row('nested objects', 2, /nested/i),
      row('references to objects of the same model type', 2, /same model|self.reference|refers to itself/i),
    ],
  },
  {
    section: 'Index specification',
    tables: { IndexSpec: '' },
    rows: [
      row('built while the plugin starts, which is not started meanwhile', 2, /built while|not.started/i),
      row('name: unique among the indexes of one model', 2, /^name is unique/),
      row('order', 2, /order/i),
      row('unique', 2, /^unique\b/i),
      row('indexFunc: single value, may be null', 2, /indexFunc of one value|single/i),
      row('indexFunc: a set of values', 2, /of several gives a set|multi/i),
      row('values: strings, or a type that can be compared', 2, /compar|key types?|typed/i),
      row('simpleAttribute and multiValueAttribute', 2, /simpleAttribute|multiValueAttribute|older form/i),
      row('IndexSpecs.single and IndexSpecs.multi', 2, /IndexSpecs|when called without an argument/),
      row('built-in indexes, not to be declared again', 2, /built-in/i),
    ],
  },
  {
    section: 'Pre-declared objects',
    rows: [
      row(
        'YAML files declare objects; the type is taken from kind and apiVersion',
        5,
        /file names are arbitrary|YAML|type is taken/i,
      ),
      row('several objects in one file, separated by ---', 5, /---/),
      row('created, or updated, after the plugin starts', 5, /created|updated/i),
      row('user edits are overwritten at each start', 5, /user edits|overwritten at/i),
      row('platform.run/do-not-overwrite', 5, /do-not-overwrite/),
      row('older form: groupVersion', 5, /groupVersion/),
    ],
  },
  {
    section: 'States and transitions',
    rows: [
      row(
        'an object is live until deletionTimestamp is set, then stays readable',
        2,
        /live|readable|^objects: with finalizers/i,
      ),
      row('finalizers mark whether an object can be reclaimed', 2, /finalizers|^objects: .*finalizer/i),
      row('a plugin is not started while its indexes are built', 5, /not.started|^plugins: .*indexes/i),
      row(
        'controllers are triggered by create, update, delete',
        5,
        /controllers?|^controllers: .*(create|called after)/i,
      ),
    ],
  },
  {
    section: 'Generated resource API',
    tables: {
      'List query parameters': '',
      'Label selector forms': 'labelSelector: ',
      'Field selector forms': 'fieldSelector: ',
    },
    rows: [
      row('GET <plural>', 2, /GET <plural>( |$)|page of objects|^api: page, size, total, items/),
      row('GET <plural>/{name}', 2, /GET <plural>\/\{name\}/),
      row('POST <plural>', 2, /POST/),
      row('PUT <plural>/{name}', 2, /PUT/),
      row('DELETE <plural>/{name}', 2, /DELETE|^objects: DELETE/),
      row('page', 2, /\bpage\b|^lists: .*\bpage\b/),
      row('size', 2, /\bsize\b|^lists: .*\bsize\b/),
      row('sort', 2, /\bsort\b|^lists: .*\bsort/),
      row('labelSelector: key=value', 2, /key=value|label.*equal/i),
      row('labelSelector: key!=value', 2, /key!=value/),
      row('labelSelector: !key', 2, /!key/),
      row('labelSelector: key', 2, /^labelSelector: (key$|label key exists)/),
      row('fieldSelector: field=value', 2, /field=value/),
      row('fieldSelector: field!=value', 2, /field!=value/),
      row('fieldSelector: field=(v1,v2)', 2, /field=\(v1,v2\)|field=\(/),
      row('the parameters can be combined', 2, /combined/i),
    ],
  },
  {
    section: 'Custom API',
    rows: [
      row('a path has at most 7 segments', 6, /7 segments|seven segments|at most 7/i),
      row('groups by audience: console, uc, public', 6, /audience|console/i),
      row('functional route functions', 6, /functional|route functions?/i),
      row('annotated controllers with ApiVersion; without it not registered', 6, /ApiVersion/),
      row('CustomEndpoint with endpoint() and groupVersion()', 6, /CustomEndpoint|groupVersion\(\)/),
      row('older form: version only, below /apis/plugin.api.platform.run', 6, /older form|version.only/i),
      row('SortableRequest and its extension', 6, /SortableRequest/),
      row('request bodies are validated, in the locale of the request', 6, /bod(y|ies)|locale/i),
    ],
  },
  {
    section: 'API description',
    rows: [
      row('viewable at /swagger-ui.html', 6, /swagger-ui/),
      row('five groups', 6, /five groups|groups/i),
      row('operationId, description, tag and response type of custom routes', 6, /operationId/),
    ],
  },
  {
    section: 'Authentication',
    rows: [
      row(
        'a model automatically gets permissions; role templates cover custom routes',
        7,
        /permissions?|role templates?|^permissions: .*template/i,
      ),
    ],
  },
  {
    section: 'Events',
    rows: [row('controllers are called on create, update and delete', 5, /controllers?|called/i)],
  },
  {
    section: 'Errors',
    rows: [
      row(
        'an object does not match the schema: all fields named, nothing stored',
        2,
        /^…$|^objects: all violations are reported at once/,
      ),
      row('a field violates a constraint', 2, /^…$/),
      row('an update carries a different version', 2, /version/i),
      row('a value of a unique index is duplicated', 2, /unique/i),
      row('the body of a custom route fails validation', 6, /custom.route|body/i),
      row('a controller class has no API-version annotation', 6, /annotation/i),
    ],
  },
  {
    section: 'Limits',
    rows: [
      row('metadata.name: 253 characters', 2, /metadata\.name|name length/i),
      row('key prefix: 253 characters', 2, /prefix/i),
      row('key name part: 63 characters', 2, /name part/i),
      row('custom API path: 7 segments', 6, /segments/i),
      row('page starts at 1', 2, /page/i),
      row('index names are unique in a model', 2, /index names?|names of indexes/i),
    ],
  },
  {
    section: 'Versioning',
    rows: [
      row('versions are part of apiVersion and of the path', 2, /part of/i),
      row('indexes before 2.22.0: IndexSpec, simpleAttribute, multiValueAttribute', 2, /2\.22|IndexSpec/),
      row('2.12: groupVersion in YAML', 5, /^spec: Pre-declared objects - .*groupVersion/),
      row('2.12: controllers with a version only', 6, /version only|prefix/i),
      row('2.12: no spec wrapper', 2, /wrapper/i),
    ],
  },
];
