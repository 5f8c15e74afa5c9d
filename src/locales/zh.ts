/**
 * Chinese for every text of the service, by the English text. `{name}` stands for the parameter `name`.
 * `npm run guard` fails when a text has no line here, or a line no text.
 */
export const zh = {
  // apply/pace.ts
  'The names of the fields take more than {limit} bytes': '字段名称合计超过 {limit} 字节',
  // auth/authentication/authenticator.ts
  'the session has ended': '会话已结束',
  'unknown token': '没有与之对应的身份',
  'the header "Authorization" must have the form "Bearer <token>"': '"Authorization" 头应为 "Bearer <令牌>" 的形式',
  // auth/authentication/identity.ts
  '"{who}" may not do this: {reason}': '"{who}" 无权执行此操作：{reason}',
  // auth/authentication/jwt.ts
  'The issuer {issuer} cannot be reached, so its tokens cannot be checked now':
    '无法连接签发方 {issuer}，暂时不能校验其令牌',
  'it has expired': '令牌已过期',
  'its signature is invalid': '其签名无效',
  // auth/authentication/rate-limit.ts
  'Too many requests from this {what}; try again in {seconds} s': '来自此{what}的请求过多；请在 {seconds} 秒后重试',
  // auth/authentication/session-cookie.ts
  'This request carries the session of a browser and comes from another site; only pages of this service may use it':
    '该请求带有浏览器会话，却来自其他站点；只有本服务的页面可以使用会话',
  'A request with the session of a browser that changes something needs the header "Kindred-Console: 1", which shows that a page of this service sends it':
    '带有浏览器会话的修改请求必须带有请求头 "Kindred-Console: 1"，以表明它由本服务的页面发出',
  'Only pages of this service may sign in or out; this request comes from {origin}':
    '只有本服务的页面可以登录或退出；该请求来自 {origin}',
  'A browser can sign in over https, or over http on the machine of the service itself, not at {host}: set "console.publicUrl" to the https address that people use, or "console.insecureCookie"':
    '浏览器只能通过 https 登录，或在服务所在的机器上通过 http 登录，不能在 {host} 登录：请将 "console.publicUrl" 设为用户使用的 https 地址，或设置 "console.insecureCookie"',
  // auth/authorization/escalation.ts
  'The session of a browser cannot be changed, only deleted: that ends it':
    '浏览器会话不能修改，只能删除；删除即结束会话',
  '"{who}" may not do this: it would allow "{what}", and nobody can grant what they do not have':
    '"{who}" 无权执行此操作：这将授予 "{what}"，而任何人都不能授予自己没有的权限',
  '"{who}" may not do this: it allows too much at once to be compared with what they may do themselves; take fewer or smaller roles':
    '"{who}" 无权执行此操作：一次授予的权限过多，无法与其自身权限比较；请减少角色或缩小角色',
  'allow {count} grants together (verbs × (groups × resources × names + paths)); the limit for one role is {limit}: split it':
    '合计授予 {count} 项权限（动词 ×（组 × 资源 × 名称 + 路径））；一个角色最多 {limit} 项：请拆分',
  'must name at most {limit} roles; it names {count}': '最多列出 {limit} 个角色；实际为 {count} 个',
  '"{who}" may not do this: the role "{role}" does not exist, so what it will allow is not known; create it first':
    '"{who}" 无权执行此操作：角色 "{role}" 不存在，无法得知它将授予什么；请先创建它',
  'The role "super-role" allows everything and cannot be changed; bind another role instead':
    '角色 "super-role" 允许一切操作且不可更改；请改用其他角色',
  '"{who}" may not do this: a token for another user needs the right to impersonate users "{user}"':
    '"{who}" 无权执行此操作：为其他用户创建令牌需要对 users "{user}" 执行 impersonate 的权限',
  '"{who}" may not do this: a token created with a token cannot outlive it; "expiresAt" must be at most {limit}':
    '"{who}" 无权执行此操作：用令牌创建的令牌不能比其更晚过期；"expiresAt" 最晚为 {limit}',
  '"{who}" may not do this: a token created with a JWT must expire; "expiresAt" must be at most {limit}':
    '"{who}" 无权执行此操作：用 JWT 创建的令牌必须有期限；"expiresAt" 最晚为 {limit}',
  'must be a JSON list of role names, such as ["persons-view"]': '必须是角色名称的 JSON 列表，例如 ["persons-view"]',
  'cannot change: a token belongs to the user it was made for; create another token':
    '不能更改：令牌属于创建时指定的用户；请另建令牌',
  'must name a role that exists; there is no role "{role}"': '必须是已存在的角色；没有角色 "{role}"',
  '"{name}" belongs to the service itself; choose another name': '"{name}" 由服务自身保留；请使用其他名称',
  // auth/authorization/review.ts
  'must be a list': '必须是列表',
  'must have at most {limit} questions; these are {count}': '最多包含 {limit} 个问题；实际为 {count} 个',
  'must be an object': '必须是对象',
  'must be a text': '必须是文本',
  'is unknown; expected one of {known}': '未知成员；可用的有 {known}',
  'expected exactly one of "type", "resource" and "path"': '"type"、"resource"、"path" 三者必须且只能有一个',
  '"{type}" is a plural in several groups: {known}': '"{type}" 是多个组的复数名：{known}',
  // auth/sessions.ts
  'the code is unknown, was used, or is older than ten minutes': '该代码未知、已被使用，或已超过十分钟',
  // cel/rules.ts
  '{message}': '{message}',
  'does not satisfy the rule {rule}': '不满足规则 {rule}',
  '{error} evaluating rule: {message}': '对规则求值时出错：{error}：{message}',
  'the rule does not compile: {reason}': '规则无法编译：{reason}',
  'a rule is an object with the member "rule"': '规则必须是带有成员 "rule" 的对象',
  'the rule must be true or false, not {type}': '规则的结果必须为 true 或 false，而不是 {type}',
  'the expression of the message must be a string, not {type}': '消息表达式的结果必须为字符串，而不是 {type}',
  'the expression of the message uses "oldSelf", which the rule does not': '消息表达式使用了 "oldSelf"，而规则没有使用',
  '"oldSelf" cannot be used here: the items of the list around it have no keys':
    '此处不能使用 "oldSelf"：外层列表的项没有键',
  'rules cannot stand here: they stand at a value, its properties, items, patternProperties and additionalProperties, and in allOf':
    '规则不能位于此处：规则可以位于值本身、其 properties、items、patternProperties 和 additionalProperties，以及 allOf 中',
  'rules are a list of objects with the member "rule"': '规则是由带有成员 "rule" 的对象组成的列表',
  'a rule knows no member "{name}"; it knows {members}': '规则没有成员 "{name}"；可用的有 {members}',
  'must be a text, or true or false for "optionalOldSelf"': '必须为文本；"optionalOldSelf" 必须为 true 或 false',
  'the rule may take {steps} steps for the longest lists that the schema allows, more than {limit}: lower their maxItems or maxProperties':
    '对于模式允许的最长列表，该规则可能需要 {steps} 步，超过 {limit} 步：请减小它们的 maxItems 或 maxProperties',
  'some rules were not checked, because of the other violations': '由于存在其他违规，部分规则未被检查',
  '"{path}" names no member of this place, such as .name': '"{path}" 未指明此处的成员，例如 .name',
  // cli/targets.ts
  'The object has no metadata.name': '对象缺少 metadata.name',
  // cli/types.ts
  'The service has no model {kind} ({apiVersion})': '服务中没有模型 {kind}（{apiVersion}）',
  'The service has no type "{text}" that you may use{meant} You may use {known}':
    '服务中没有您可以使用的类型 "{text}"{meant} 您可以使用：{known}',
  // controller/reconciler.ts
  'Result.requeue takes a number of milliseconds of at least 0, not {value}':
    'Result.requeue 需要不小于 0 的毫秒数，而不是 {value}',
  'A controller needs a model: call builder.extension(Model) before build()':
    '控制器需要一个模型：请在 build() 之前调用 builder.extension(Model)',
  'The controller name "{value}" must be at most 253 characters of a-z, 0-9 and "-", beginning and ending with a letter or digit':
    '控制器名称 "{value}" 最多 253 个字符，只能包含 a-z、0-9 和 "-"，并以字母或数字开头和结尾',
  '{member} of a controller must be a number of milliseconds greater than 0, not {value}':
    '控制器的 {member} 必须是大于 0 的毫秒数，而不是 {value}',
  'minDelay ({minDelay} ms) of a controller must not be greater than its maxDelay ({maxDelay} ms)':
    '控制器的 minDelay（{minDelay} 毫秒）不能大于 maxDelay（{maxDelay} 毫秒）',
  'workerCount of a controller must be an integer of at least 1, not {value}':
    '控制器的 workerCount 必须是不小于 1 的整数，而不是 {value}',
  '{member} of a controller takes a function': '控制器的 {member} 需要一个函数',
  'registerController takes a Reconciler: an object with setupWith(builder) and reconcile(request)':
    'registerController 接受 Reconciler：具有 setupWith(builder) 与 reconcile(request) 的对象',
  'setupWith of a reconciler must return what builder.build() gives':
    'Reconciler 的 setupWith 必须返回 builder.build() 的结果',
  // http/api/audit.ts
  'Entries are made faster than the client reads them; watch again': '条目产生的速度超过客户端的读取速度；请重新监听',
  // http/api/event-stream.ts
  'The client has read nothing for {seconds} s': '客户端在 {seconds} 秒内未读取任何等待发送的数据',
  // http/api/resources.ts
  'Whoever may not get "{name}" may not apply it: conflicts would tell its values':
    '无权读取 "{name}" 的调用方不能应用它：冲突会透露其内容',
  // http/api/write-parameters.ts
  '"{parameter}" is true or false, given once, not "{value}"':
    '"{parameter}" 只能是 true 或 false 且只能给出一次，不能是 "{value}"',
  '"fieldManager" is required: the name of who applies, 1 to {limit} printable characters':
    '必须给出 "fieldManager"：应用者的名称，1 到 {limit} 个可打印字符',
  // http/inner.ts
  'The answer has more than {limit} bytes: ask for fewer objects with "size", or for one object alone':
    '应答超过 {limit} 字节：请用 "size" 请求更少的对象，或只请求一个对象',
  // http/server/yaml-body.ts
  'The body cannot be read: {mistake}': '无法读取请求体：{mistake}',
  'The body is not UTF-8': '请求体不是 UTF-8',
  'The body takes longer than {seconds} s to read; send JSON': '读取请求体需要超过 {seconds} 秒；请发送 JSON',
  'Too many bodies in YAML wait to be read; try again, or send JSON': '等待读取的 YAML 请求体过多；请重试，或发送 JSON',
  // http/api/watch.ts
  '"{parameter}" is a revision, a decimal number, not "{value}"': '"{parameter}" 应为十进制修订号，而不是 "{value}"',
  '"sendInitial" is true or false, not "{value}"': '"sendInitial" 应为 true 或 false，而不是 "{value}"',
  // http/app.ts
  'no token was sent': '请求中没有令牌',
  '"range" is a time such as 30s, 15m or 1h, not "{value}"': '"range" 应为 30s、15m 或 1h 这样的时长，而不是 "{value}"',
  'The service is starting': '服务正在启动',
  'The database cannot be reached': '数据库不可用',
  // http/custom/declaration.ts
  '"{text}" is not a group version: write <group>/<version>, for example "api.demo.example.com/v1alpha1"':
    '"{text}" 不是组版本：应为 <group>/<version>，例如 "api.demo.example.com/v1alpha1"',
  // http/custom/handler.ts
  'The body of this route is JSON (application/json), not {type}':
    '此路由的请求体应为 JSON（application/json），而不是 {type}',
  'The body of this route is JSON: send it with "Content-Type: application/json"':
    '此路由的请求体应为 JSON：请附带 "Content-Type: application/json" 发送',
  'The request body is empty; this route expects JSON': '请求体为空；此路由需要 JSON 文本',
  'The route did not answer within its time limit': '路由未能在时限内给出响应',
  'The route did not answer within its time limit; its outcome is unknown': '路由未能在时限内给出响应；其执行结果未知',
  // http/custom/mapping.ts
  '{method} {path} is mapped to "{name}": only public instance methods can be mapped':
    '{method} {path} 映射到 "{name}"：只能映射公开的实例方法',
  // http/custom/routes.ts
  'the title of an action, and what it asks before, are texts, or objects of texts by language':
    '操作的标题及其确认提示必须是文本，或按语言给出文本的对象',
  'an action is on: "object", with the one parameter {name} in its path, or on: "list", without any':
    '操作为 on: "object" 时路径中仅有参数 {name}，为 on: "list" 时路径中没有参数',
  'registerEndpoint takes a CustomEndpoint (endpoint() and groupVersion()) or an annotated controller, as class or instance':
    'registerEndpoint 接受 CustomEndpoint（endpoint() 与 groupVersion()）或带注解的控制器（类或实例）',
  'The group "{group}" is reserved for the service itself, as is every group ending in ".{reservedDomain}"':
    '组 "{group}" 由服务自身保留，所有以 ".{reservedDomain}" 结尾的组也是如此',
  'a path begins with "/" and its segments are texts of letters, digits, "-._~" or parameters such as {name}':
    '路径以 "/" 开头，各段由字母、数字、"-._~" 组成，或为 {name} 形式的参数',
  'the path has {count} segments, at most {max} are possible; hand over the rest as parameters':
    '路径有 {count} 段，最多 {max} 段；请将其余数据作为参数传递',
  'the path contains the parameter {parameter} twice': '参数 {parameter} 在路径中出现两次',
  'the path parameter {parameter} is described but is not in the path': '已描述路径参数 {parameter}，但路径中没有它',
  'a GET request has no body': 'GET 没有请求体',
  'the operationId "{id}" is not made of letters, digits, "_.-" with a letter first':
    'operationId "{id}" 须以字母开头，由字母、数字、"_.-" 组成',
  '{one} clashes with {other}': '{one} 与 {other} 冲突',
  // http/custom/schema.ts
  '{reason}': '{reason}',
  'The request body is not what the route takes: {count}{more} {count|violation|violations}, the first at "{pointer}": {en}':
    '请求体不符合此路由的要求：共 {count}{more} 处问题，第一处位于 "{pointer}"：{zh}',
  'query parameter': '查询参数',
  'path parameter': '路径参数',
  header: '请求头',
  'is given twice': '重复给出',
  // http/server/browser-guard.ts
  'The service runs without authentication and answers requests for {allowed} only, not for "{host}". Turn on authentication, or add the name to the setting "hosts"':
    '服务未启用身份验证，仅响应发往 {allowed} 的请求，不响应发往 "{host}" 的请求。请启用身份验证，或将该名称加入设置 "hosts"',
  'The service runs without authentication and refuses requests from web pages of another origin, here {origin}. Turn on authentication, or add the origin to the setting "cors"':
    '服务未启用身份验证，拒绝来自其他源（{origin}）的网页的请求。请启用身份验证，或将该源加入设置 "cors"',
  'The service runs without authentication and refuses requests that a web page of another origin leads to. Open the address directly, or turn on authentication':
    '服务未启用身份验证，拒绝由其他源的网页引发的请求。请直接打开该地址，或启用身份验证',
  // http/server/json.ts
  'The request body is empty; expected JSON': '请求体为空；应为 JSON 文本',
  'The request body is not UTF-8: invalid byte at position {position}':
    '请求体不是有效的 UTF-8：位置 {position} 处的字节无效',
  'The request body starts with a byte order mark; JSON is sent without one':
    '请求体以字节顺序标记开头；JSON 不应包含它',
  'Malformed JSON at line {line}, column {column}: {expected} expected, {found} found':
    'JSON 格式有误，第 {line} 行第 {column} 列：应为{expected}，实际为{found}',
  'Duplicate member {name} at line {line}, column {column}; each name is allowed once in an object':
    '同一对象中成员名 {name} 出现了两次，第二次位于第 {line} 行第 {column} 列；每个名称只能出现一次',
  'JSON nested too deeply at line {line}, column {column}: at most {limit} levels are allowed':
    'JSON 嵌套过深，位于第 {line} 行第 {column} 列：最多允许 {limit} 层',
  'Too many members in the JSON text: at most {limit} are allowed, exceeded at line {line}, column {column}':
    'JSON 成员过多：最多允许 {limit} 个，在第 {line} 行第 {column} 列超出',
  'Too many objects and lists in the JSON text: at most {limit} are allowed, exceeded at line {line}, column {column}':
    'JSON 中的对象和列表过多：最多允许 {limit} 个，在第 {line} 行第 {column} 列超出',
  'The number {token} cannot be kept exactly; the nearest one that can is {nearest}':
    '数字 {token} 无法精确保存；最接近的可保存值为 {nearest}',
  'Malformed JSON': 'JSON 格式有误',
  // http/server/problem.ts
  'Unexpected error in the service. The log has the reason under the request ID of this response':
    '服务发生意外错误。可凭此应答的请求编号在服务日志中查找原因',
  'No route matches {path}': '{path} 处没有任何资源',
  '{path} does not support {method}; it supports {allowed}': '{path} 不支持 {method}；支持 {allowed}',
  'Unknown parameter "{parameter}": this request has no parameters': '未知参数 "{parameter}"：该请求不接受参数',
  'Unknown parameter "{parameter}": this request takes {allowed}': '未知参数 "{parameter}"：该请求接受 {allowed}',
  'The request has no Content-Type; expected {allowed}': '请求缺少 Content-Type；应为 {allowed}',
  'The Content-Type {given} is not supported here; expected {allowed} (in UTF-8)':
    '此处不支持 Content-Type {given}；应为 {allowed}（UTF-8 编码）',
  'The Content-Encoding {given} is not supported; send the body without one':
    '不支持 Content-Encoding {given}；请求体不应使用内容编码',
  'The request body is larger than {limit} bytes': '请求体超过 {limit} 字节',
  'The line is larger than {limit} bytes': '该行超过 {limit} 字节',
  'The request ends here: {count} lines were refused. This line and the lines after it were not processed':
    '请求到此结束：已有 {count} 行被拒绝。未读取该行及其后各行，也未对其执行任何操作',
  'The URL is longer than {limit} bytes': 'URL 超过 {limit} 字节',
  'The query string is longer than {limit} bytes': '查询字符串超过 {limit} 字节',
  'The request headers are larger than {limit} bytes': '请求头超过 {limit} 字节',
  'The path {path} is not percent-encoded correctly: every % is followed by two hexadecimal digits of UTF-8 bytes':
    '路径 {path} 的百分号编码有误：每个 % 之后应为表示 UTF-8 字节的两位十六进制数',
  'The request has no Host header; HTTP/1.1 asks for one': '请求缺少 Host 头；HTTP/1.1 要求提供',
  'The request has more than one {name} header': '请求包含多个 {name} 头',
  'HTTP/{version} is not supported; use HTTP/1.1': '不支持 HTTP/{version}；请使用 HTTP/1.1',
  'The request is not well-formed HTTP: {reason}': '请求不是有效的 HTTP：{reason}',
  'The request did not arrive within {seconds} s': '请求未能在 {seconds} 秒内到达',
  'What the caller may see has changed; export again': '调用者可见的内容已变化；请重新导出',
  'The client went away before the answer': '客户端在响应之前已断开连接',
  'The service is shutting down; nothing was done': '服务正在关闭；未执行任何操作',
  'The service is overloaded; the request was not executed. Retry after one second, with back-off':
    '服务过载；未执行任何操作。请在一秒后重试，若再次被拒绝则逐次延长等待时间',
  'Too many bytes of other responses are waiting for their clients; the request was not executed. Retry after one second, or request less':
    '等待客户端读取的其他响应数据过多；未执行任何操作。请在一秒后重试，或减少请求的数据量',
  '"watch" is given once, as true or false': '"watch" 只能给出一次，值为 true 或 false',
  '"{parameter}" is for requests with watch=true': '"{parameter}" 仅用于 watch=true 的请求',
  '"{parameter}" cannot be given together with "{other}"': '"{parameter}" 不能与 "{other}" 同时给出',
  '"{parameter}" is not for application/x-ndjson, which answers every match; leave it out, or accept application/json':
    '"{parameter}" 不适用于 application/x-ndjson，它会返回全部匹配对象；请去掉该参数，或接受 application/json',
  // http/session.ts
  'Authentication is off: there is nothing to sign in to': '身份验证已关闭，无需登录',
  'must be an object with either "token" or "code", a text': '必须是带有 "token" 或 "code" 其中之一的对象，其值为文本',
  'this browser has not begun to sign in, or more than ten minutes ago': '此浏览器尚未开始登录，或已超过十分钟',
  'must be the URL of an issuer at which people sign in': '必须是可供登录的签发方的 URL',
  'nobody is known by this token': '没有与该令牌对应的用户',
  // mcp/endpoint.ts
  'agents need a token of their own': '智能体需要自己的令牌',
  'Web pages of another origin, here {origin}, may not call {path}. Add the origin to the setting "cors"':
    '来自其他源（此处为 {origin}）的网页不能调用 {path}。请把该源加入设置 "cors"',
  'Expected one message of JSON-RPC, not a list of them': '需要一条 JSON-RPC 消息，而不是消息列表',
  'Too many calls of agents are under way; try again in a moment': '正在进行的智能体调用过多；请稍后重试',
  // model/declaration.ts
  '{model} declares "schema" besides "spec" or "status": use one form':
    '{model} 同时声明了 "schema" 和 "spec" 或 "status"：只能使用其中一种形式',
  '{model} has the sub-resource status but no field "status"': '{model} 声明了 status 子资源，但没有 "status" 字段',
  '{model}: "schema" describes the members of an object, so its type must be "object"; got {value}':
    '{model}："schema" 描述对象的成员，因此类型必须为 "object"；实际为 {value}',
  '{model}: /properties/{name} cannot be declared: every object has it already':
    '{model}：不能声明 /properties/{name}：所有对象都已包含该字段',
  // model/decorators.ts
  'The class {type} has @GVK but does not extend AbstractExtension':
    '类 {type} 带有 @GVK，但没有继承 AbstractExtension',
  '@Schema on {type}.{name}: every object has this field already': '{type}.{name} 上的 @Schema：所有对象都已包含该字段',
  '@Schema on {where}: the class "{type}" has no field with @Schema; a type is a name such as "string", a decorated class or a JSON Schema':
    '{where} 上的 @Schema：类 "{type}" 没有带 @Schema 的字段；类型应为 "string" 等名称、带装饰器的类或 JSON Schema',
  '@Schema on {where}: the type must be one of {names}, a class, a function that gives one, or a JSON Schema; got "{type}"':
    '{where} 上的 @Schema：类型必须为 {names} 之一、类、返回类的函数或 JSON Schema；实际为 "{type}"',
  '@Schema on {where}: the function given as type must return a class, a type name or a JSON Schema':
    '{where} 上的 @Schema：作为 type 的函数必须返回类、类型名称或 JSON Schema',
  '@Schema on {where}: requiredMode must be REQUIRED, NOT_REQUIRED or AUTO; got {requiredMode}':
    '{where} 上的 @Schema：requiredMode 必须为 REQUIRED、NOT_REQUIRED 或 AUTO；实际为 {requiredMode}',
  '@Schema on {where} knows no attribute "{name}"; it knows {names}':
    '{where} 上的 @Schema 不支持属性 "{name}"；支持的属性为 {names}',
  '@Schema on {where}: "{name}" applies to {types}, the type is "{type}"':
    '{where} 上的 @Schema："{name}" 适用于 {types}，而类型为 "{type}"',
  // model/define.ts
  '"indexes" must be a function that returns an array of indexes, such as (index) => [index.single(…)]; {what} {value}':
    '"indexes" 必须为返回索引数组的函数，例如 (index) => [index.single(…)]；{what} {value}',
  'defineModel takes a declaration with the members {members}; got {value}':
    'defineModel 需要一个声明对象，其成员为 {members}；实际为 {value}',
  'defineModel knows no member "{name}"; it knows {members}': 'defineModel 不支持成员 "{name}"；支持的成员为 {members}',
  // model/gvk.ts
  'The GVK attribute "{name}" must consist of lower-case letters, digits and "-", start with a letter, and have at most 63 characters; got "{value}"':
    'GVK 属性 "{name}" 只能由小写字母、数字和 "-" 组成，以字母开头，最多 63 个字符；实际为 "{value}"',
  'A model needs the attributes group, version, kind, singular and plural':
    '模型需要 group、version、kind、singular 和 plural 属性',
  'The GVK attribute "{name}" must be a DNS sub-domain of at most 253 characters, such as "demo.example.com"; got "{value}"':
    'GVK 属性 "{name}" 必须是最多 253 个字符的 DNS 子域名，例如 "demo.example.com"；实际为 "{value}"',
  'The GVK attribute "{name}" must be of the form v1, v1alpha1 or v2beta3; got "{value}"':
    'GVK 属性 "{name}" 的形式必须为 v1、v1alpha1 或 v2beta3；实际为 "{value}"',
  'The GVK attribute "{name}" must be in upper camel case, such as "Person", of at most 63 letters and digits; got "{value}"':
    'GVK 属性 "{name}" 必须为大驼峰形式（例如 "Person"），最多 63 个字母或数字；实际为 "{value}"',
  'The GVK attribute "{name}" is missing: group, version, kind, singular and plural are all needed, each a string':
    '缺少 GVK 属性 "{name}"：group、version、kind、singular 和 plural 都是必需的字符串',
  'The GVK attribute "plural" must not be one of {taken}; got "{value}"':
    'GVK 属性 "plural" 不能是 {taken} 之一；实际为 "{value}"',
  '"evolution" may have "onInvalid" ("refuse" or "degrade"), "finalizeAfter" (milliseconds or a text such as "1h") and the function "migrate"; got {value}':
    '"evolution" 可以包含 "onInvalid"（"refuse" 或 "degrade"）、"finalizeAfter"（毫秒数或 "1h" 之类的文本）和函数 "migrate"；实际为 {value}',
  '"indexNames" of the version {version} names the index "{name}", which the model does not have':
    '版本 {version} 的 “indexNames” 指向索引 “{name}”，而该模型没有此索引',
  '"indexNames" of the version {version} gives the name "{name}" to two indexes':
    '版本 {version} 的 “indexNames” 把名称 “{name}” 给了两个索引',
  '"versions" must be an object with a member for each version, such as v1; got {value}':
    '“versions” 必须是对象，每个版本一个成员，例如 v1；得到 {value}',
  '"versions" has the member "{version}": a version must be of the form v1, v1alpha1 or v2beta3':
    '“versions” 有成员 “{version}”：版本必须形如 v1、v1alpha1 或 v2beta3',
  'The version {version} knows no member "{name}"; it knows {members}':
    '版本 {version} 没有成员 “{name}”；可用成员：{members}',
  'The version {version} is the one in "gvk": its schemas stand there, and "versions" may have {members} of it; got "{name}"':
    '版本 {version} 就是 “gvk” 中的版本：其 schema 在那里声明，“versions” 中只能有它的 {members}；得到 “{name}”',
  '"served" of the version {version} must be true or false; got {value}':
    '版本 {version} 的 “served” 必须是 true 或 false；得到 {value}',
  '"deprecated" of the version {version} must be a text of printable ASCII characters that clients are told; got {value}':
    '版本 {version} 的 “deprecated” 必须是告知客户端的可打印 ASCII 文本；得到 {value}',
  'The version {version} has "{given}" and lacks "{missing}": a conversion goes in both directions':
    '版本 {version} 有 “{given}” 而缺少 “{missing}”：转换必须是双向的',
  '"{name}" of the version {version} must be a function, or an object with the functions spec and status; got {value}':
    '版本 {version} 的 “{name}” 必须是函数，或含有函数 spec 和 status 的对象；得到 {value}',
  'The version {version} must have {wanted}, as the model has; got {value}':
    '版本 {version} 必须与模型一样有 {wanted}；得到 {value}',
  '"indexNames" of the version {version} must give names of indexes by name; got {value}':
    '版本 {version} 的 “indexNames” 必须按名称给出索引名；得到 {value}',
  'At least one version must be served': '至少要提供一个版本',
  '{kind} "{name}" cannot be converted from {from} to {to}: {reason}':
    '{kind} “{name}” 无法从 {from} 转换为 {to}：{reason}',
  'the conversion must return an object': '转换必须返回对象',
  '"migrate" must return an object, or nothing': '"migrate" 必须返回对象，或不返回任何内容',
  'is changing too quickly': '变化过快',
  '"migrate" changes what it has made': '"migrate" 会再次改变它自己的结果',
  'stored as {version} until the model is finalized': '在模型完成切换之前以 {version} 存储',
  '{kind}: {failing} of {objects} stored {objectCount|object|objects} would become invalid ({samples}): repair them, add a conversion, or start with evolution.onInvalid: degrade':
    '{kind}：已存储的 {objects} 个对象中有 {failing} 个将变为无效（{samples}）：请修复它们、添加转换，或以 evolution.onInvalid: degrade 启动',
  '"scope" must be "Cluster" or "Namespaced"; got {value}': '"scope" 必须为 "Cluster" 或 "Namespaced"；实际为 {value}',
  '"naming" must be "strict" or "kubernetes"; got {value}': '"naming" 必须为 "strict" 或 "kubernetes"；实际为 {value}',
  '"{name}" must be a list of at most {limit} names of lower-case letters, digits and "-", each once, that start with a letter and have at most 63 characters; got {value}':
    '"{name}" 必须为最多 {limit} 个名称的列表，各名称互不相同，由小写字母、数字和 "-" 组成，以字母开头，最多 63 个字符；实际为 {value}',
  '"rules" must be a list of at most {limit} rules; got {value}':
    '"rules" 必须是最多 {limit} 条规则的列表；实际为 {value}',
  '"columns" must be a list of at most {limit} columns; got {value}':
    '"columns" 必须为最多 {limit} 列的列表；实际为 {value}',
  '"columns" must have for each column a name of its own, a type ({types}), a path, and perhaps a priority (an integer from 0), a description and a format; got {value}':
    '"columns" 的每一列必须有互不相同的名称、类型（{types}）和路径，可以有 priority（从 0 起的整数）、description 和 format；实际为 {value}',
  'The path of the column "{name}" must be a JSONPath such as .spec.replicas or .status.conditions[?(@.type=="Ready")].status; got "{value}"':
    '列 "{name}" 的路径必须为 JSONPath，例如 .spec.replicas 或 .status.conditions[?(@.type=="Ready")].status；实际为 "{value}"',
  '"subresources" knows the members status (true or false) and scale; got {value}':
    '"subresources" 只有成员 status（true 或 false）和 scale；实际为 {value}',
  '"subresources.scale" needs specReplicasPath below .spec and statusReplicasPath below .status, such as .spec.replicas and .status.replicas, and may have labelSelectorPath below either; got {value}':
    '"subresources.scale" 需要 .spec 之下的 specReplicasPath 和 .status 之下的 statusReplicasPath，例如 .spec.replicas 和 .status.replicas，可以有两者之一之下的 labelSelectorPath；实际为 {value}',
  'The short name "{name}" is taken in the group "{group}", by {other}':
    '短名称 "{name}" 在组 "{group}" 中已被 {other} 占用',
  'must be the start of a name: lower-case letters, digits, "-" and ".", with a letter or digit at the start and at both sides of each ".", and at most {limit} characters, so that 8 more can follow; got "{value}"':
    '必须为名称的开头：由小写字母、数字、"-" 和 "." 组成，开头及每个 "." 两侧为字母或数字，最多 {limit} 个字符，以便再接 8 个字符；实际为 "{value}"',
  'must consist of lower-case letters, digits, "-" and ".", and start and end with a letter or digit, as each part between dots; got "{value}"':
    '必须由小写字母、数字、"-" 和 "." 组成，开头和结尾以及点之间的每一部分的开头和结尾都为字母或数字；实际为 "{value}"',
  'The index "{name}" is built in for namespaced models and cannot be declared again':
    '索引 "{name}" 在有命名空间的模型中是内置的，不能再次声明',
  'is required: every object of this model belongs to a namespace': '为必填项：该模型的每个对象都属于一个命名空间',
  'an object has at most {limit} owners, these are {count}': '一个对象最多有 {limit} 个属主，这里有 {count} 个',
  'is not a field of an owner reference; its fields are {allowed}': '不是属主引用的字段；其字段为 {allowed}',
  'at most one owner controls the object': '最多一个属主控制该对象',
  'is missing: the model is namespaced by now': '缺失：该模型现在有命名空间',
  'is there: the model is cluster-scoped by now': '存在：该模型现在没有命名空间',
  'no new finalizers can be added if the object is being deleted, found new finalizers {value}':
    '对象正在被删除时不能添加终结器，新的终结器为 {value}',
  'must equal the namespace in the path, "{expected}"; a namespace never changes':
    '必须与路径中的命名空间 "{expected}" 相同；命名空间不能更改',
  'there is no {kind} ({apiVersion}) "{name}": give the uid of an owner that is gone':
    '没有名为 "{name}" 的 {kind}（{apiVersion}）：若属主已不存在，请给出其 uid',
  'The object "{name}" was changed: its revision is {current}, not {given}':
    '对象 "{name}" 已被更改：其修订号为 {current}，而不是 {given}',
  'The object "{name}" is another one: its uid is {current}, not {given}':
    '对象 "{name}" 已是另一个对象：其 uid 为 {current}，而不是 {given}',
  // model/index-spec.ts
  'The index "{name}" needs an indexFunc made by simpleAttribute or multiValueAttribute':
    '索引 "{name}" 需要由 simpleAttribute 或 multiValueAttribute 生成的 indexFunc',
  'An index must be made by IndexSpecs.single, IndexSpecs.multi or new IndexSpec; got {value}':
    '索引必须由 IndexSpecs.single、IndexSpecs.multi 或 new IndexSpec 创建；实际为 {value}',
  'The index "{name}" is declared twice: names are unique among the indexes of one model':
    '索引 "{name}" 声明了两次：同一模型的索引名称必须唯一',
  'The name of an index must have 1 to 253 characters, each a letter, a digit, "_", "." or "-"; got "{name}"':
    '索引名称必须为 1 到 253 个字符，且只能包含字母、数字、"_"、"." 和 "-"；实际为 "{name}"',
  'The index "{name}" is built in and cannot be declared again; built in are {builtIn}, and "name" is short for metadata.name':
    '索引 "{name}" 是内置索引，不能再次声明；内置索引为 {builtIn}，"name" 是 metadata.name 的简写',
  'The order of the index "{name}" must be "ASC" or "DESC"; got {order}':
    '索引 "{name}" 的 order 必须为 "ASC" 或 "DESC"；实际为 {order}',
  'The index "{name}" needs true or false for unique and nullable, and a function as indexFunc':
    '索引 "{name}" 的 unique 和 nullable 必须为 true 或 false，indexFunc 必须为函数',
  'The key type of the index "{name}" must be String, Number, Boolean, BigInt, Date or { compare, parse, format }':
    '索引 "{name}" 的键类型必须为 String、Number、Boolean、BigInt、Date 或 { compare, parse, format }',
  'The function of the index "{index}" failed: {reason}': '索引 "{index}" 的函数执行失败：{reason}',
  'The index "{index}" needs a value, this object has none': '索引 "{index}" 需要一个值，但该对象没有',
  'The object has more than {limit} values for the index "{index}"': '该对象为索引 "{index}" 提供了超过 {limit} 个值',
  'A key of the index "{index}" is {length} characters long, at most {limit} are allowed':
    '索引 "{index}" 的一个键长度为 {length} 个字符，最多允许 {limit} 个',
  // model/metadata.ts
  'must be {expected}; got {actual}': '必须为 {expected}；实际为 {actual}',
  'is not a field of metadata; its fields are {allowed}': '不是 metadata 的字段；其字段为 {allowed}',
  'is required: give metadata.name or metadata.generateName': '为必填项：请提供 metadata.name 或 metadata.generateName',
  'must start with a lower-case letter or digit, consist of lower-case letters, digits and "-", and have at most {limit} characters, so that 8 more can follow; got "{value}"':
    '必须以小写字母或数字开头，由小写字母、数字和 "-" 组成，最多 {limit} 个字符（其后追加 8 个字符）；实际为 "{value}"',
  'must be an integer from 0 to 2^53 - 1; got {actual}': '必须为 0 到 2^53 - 1 之间的整数；实际为 {actual}',
  'annotations have at most {limit} bytes together, these have {size}': '所有注解总共最多 {limit} 字节，实际为 {size}',
  'an object has at most {limit} finalizers, these are {count}': '一个对象最多 {limit} 个 finalizer，实际为 {count} 个',
  'a finalizer must not be empty': 'finalizer 不能为空',
  'a finalizer is at most {limit} characters long, this one has {length}':
    'finalizer 最多 {limit} 个字符，实际为 {length} 个',
  'the key "{key}" is reserved: keys with the prefix "{domain}" or below it are the service\'s own, and cannot be added or changed':
    '键 "{key}" 已被保留：前缀为 "{domain}" 或其子域的键仅供服务自身使用，不能添加或修改',
  'the key "{key}" has no prefix: such keys are reserved for users, a plugin uses its own prefix, as in "demo.example.com/{key}"':
    '键 "{key}" 没有前缀：此类键保留给用户使用，插件应使用自己的前缀，例如 "demo.example.com/{key}"',
  // model/names.ts
  'is {length} characters long, at most {limit} are allowed': '长度为 {length} 个字符，最多允许 {limit} 个',
  'must consist of lower-case letters, digits and "-", and start and end with a letter or digit; got "{value}"':
    '只能由小写字母、数字和 "-" 组成，且首尾必须为字母或数字；实际为 "{value}"',
  'the prefix of the key is {length} characters long, at most {limit} are allowed':
    '键的前缀长度为 {length} 个字符，最多允许 {limit} 个',
  'the prefix of the key "{value}" must be a DNS sub-domain, such as "demo.example.com"':
    '键 "{value}" 的前缀必须是 DNS 子域名，例如 "demo.example.com"',
  'the name part of the key is {length} characters long, at most {limit} are allowed':
    '键的名称部分长度为 {length} 个字符，最多允许 {limit} 个',
  'the name part of the key "{value}" must consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit':
    '键 "{value}" 的名称部分只能由字母、数字、"-"、"_" 和 "." 组成，且首尾必须为字母或数字',
  'a label value is at most {limit} characters long, this one has {length}':
    '标签值最多 {limit} 个字符，实际为 {length} 个',
  'a label value is empty or consists of letters, digits, "-", "_" and ".", with a letter or digit at both ends; got "{value}"':
    '标签值可为空，或由字母、数字、"-"、"_" 和 "." 组成，且首尾为字母或数字；实际为 "{value}"',
  // model/presentation.ts
  '{model}: "presentation" must be an object with members of {members}; got {value}':
    '{model}："presentation" 必须是对象，其字段为 {members}；实际为 {value}',
  '{model}: "presentation" knows no member "{name}"; it knows {members}':
    '{model}："presentation" 没有字段 "{name}"；可用字段为 {members}',
  '{model}: "presentation.{name}" must be a text, or an object of texts by language such as { en: "Book" }; got {value}':
    '{model}："presentation.{name}" 必须是文本，或按语言给出文本的对象，例如 { en: "Book" }；实际为 {value}',
  '{model}: "presentation.columns" must be a list of at most {limit} paths; got {value}':
    '{model}："presentation.columns" 必须是最多 {limit} 个路径的列表；实际为 {value}',
  '{model}: "presentation.{name}" must be a text; got {value}':
    '{model}："presentation.{name}" 必须是文本；实际为 {value}',
  '{model}: "presentation.{name}" names "{path}", which is neither an index nor a member of the schema':
    '{model}："presentation.{name}" 指向 "{path}"，它既不是索引，也不是 schema 中的字段',
  // model/registry.ts
  'The group "{group}" is reserved: the empty group, "{domain}" and every group ending in ".{domain}" belong to the service itself':
    '组 "{group}" 已被保留：空组、"{domain}" 以及以 ".{domain}" 结尾的组仅供服务自身使用',
  'The plural "{plural}" is already registered in the group "{group}", by {other}':
    '复数名称 "{plural}" 已在组 "{group}" 中由 {other} 注册',
  '{model} cannot be registered: {other} is, and a group has one version of a kind at a time':
    '无法注册 {model}：{other} 已注册，同一组中每种 kind 同时只能有一个版本',
  '{model} is already registered by {owner}': '{model} 已由 {owner} 注册',
  '{model} is already registered with another declaration (attributes, schema or indexes differ): unregister it first':
    '{model} 已以不同的声明注册（属性、模式或索引不同）：请先注销',
  '{model} is not registered': '{model} 未注册',
  // model/scheme.ts
  'A model is the result of defineModel or a class with @GVK; got {value}':
    '模型应为 defineModel 的结果或带有 @GVK 的类；实际为 {value}',
  // model/starting.ts
  'The plugin {plugin} is starting: it answers when its start is done': '插件 {plugin} 正在启动：启动完成后才会响应',
  // model/validator.ts
  'is not a field of the model; known here are {allowed}': '不是模型的字段；此处已知的字段为 {allowed}',
  // plugin/dependencies.ts
  'It depends on the plugin "{dependency}" ({range}), which is not there':
    '它依赖插件 "{dependency}"（{range}），但该插件不存在',
  'It depends on the plugin "{dependency}" in a version of the range {range}; there is version {version}':
    '它依赖插件 "{dependency}" 的版本范围 {range}；实际版本为 {version}',
  'Its dependencies form a cycle: {cycle}': '其依赖关系形成循环：{cycle}',
  'It depends on the plugin "{dependency}", which is {state}': '它依赖插件 "{dependency}"，而该插件处于 {state} 状态',
  // plugin/host.ts
  'The plugin at {second} has the name "{name}" of the one at {first}, and is not loaded':
    '位于 {second} 的插件与位于 {first} 的插件同名 "{name}"，因此未加载',
  'Its modules did not load within {limit} ms': '其模块在 {limit} 毫秒后仍未加载完成',
  'There is no plugin "{name}"': '没有名为 "{name}" 的插件',
  // plugin/instance.ts
  'The plugin "{plugin}" is stopped: it can register and write nothing any more':
    '插件 "{plugin}" 已停止：不能再注册或写入任何内容',
  'start() did not finish within {limit} ms': 'start() 在 {limit} 毫秒后仍未结束',
  'The plugin has two controllers named "{name}": give one another name with builder.name()':
    '插件有两个名为 "{name}" 的控制器：请用 builder.name() 为其中一个另取名称',
  'registerAuthenticator takes a function': 'registerAuthenticator 需要一个函数',
  // plugin/loader.ts
  'There is no plugin package "{source}": neither a folder nor an installed npm package':
    '没有插件包 "{source}"：既不是文件夹，也不是已安装的 npm 包',
  '{folder}: the package\'s "main" or "exports" leads to no file: {reason}':
    '{folder}：包的 "main" 或 "exports" 未指向任何文件：{reason}',
  // plugin/manifest.ts
  '{file} cannot be read: {reason}': '无法读取 {file}：{reason}',
  '{file} is not valid JSON: {reason}': '{file} 不是有效的 JSON：{reason}',
  '{file}: "{member}" must be {expected}': '{file}："{member}" 应为 {expected}',
  '{file}: the plugin name "{value}" must be at most 63 characters of a-z, 0-9 and "-", beginning and ending with a letter or digit; "kindred.name" sets it':
    '{file}：插件名称 "{value}" 最多 63 个字符，只能包含 a-z、0-9 和 "-"，并以字母或数字开头和结尾；可通过 "kindred.name" 设置',
  'The plugin needs Kindred {range}; this is {version}': '插件需要 Kindred {range}；当前版本为 {version}',
  // plugin/plugin.ts
  'The default export must be a class extending Plugin or what definePlugin gives, not {value}':
    '默认导出必须是继承 Plugin 的类或 definePlugin 的结果，而不是 {value}',
  // plugin/predeclared.ts
  'expected an object': '应为对象',
  'expected "apiVersion" (or the older "groupVersion") of the form <group>/<version>':
    '需要 <group>/<version> 形式的 "apiVersion"（或旧名 "groupVersion"）',
  '"apiVersion" and "groupVersion" differ': '"apiVersion" 与 "groupVersion" 不一致',
  'expected "kind", the name of a model': '需要 "kind"，即模型名称',
  'expected "metadata.name"': '需要 "metadata.name"',
  '{kind} "{name}" is declared twice, first at {first}': '{kind} "{name}" 重复声明，首次声明于 {first}',
  'the alias *{name} has no anchor before it': '别名 *{name} 之前没有对应的锚点',
  'the number {value} cannot be kept exactly': '数字 {value} 无法精确保存',
  'the model {kind} of {apiVersion} is not registered': '{apiVersion} 的模型 {kind} 未注册',
  '{kind} "{name}" belongs to the plugin "{other}", which declares it too':
    '{kind} "{name}" 属于同样声明它的插件 "{other}"',
  '{all}': '{all}',
  // plugin/sources.ts
  'The folder of plugins "{folder}" cannot be read: {reason}': '无法读取插件文件夹 "{folder}"：{reason}',
  // plugin/syntax-problem.ts
  '{place} cannot be loaded: {reason}': '无法加载 {place}：{reason}',
  '{place} cannot be loaded: {reason}. Node.js only removes types: run the service with --dev, or compile the plugin to JavaScript':
    '无法加载 {place}：{reason}。Node.js 只移除类型：请使用 --dev 运行服务，或将插件编译为 JavaScript',
  '{place} cannot be loaded: {reason}. TypeScript that is more than types (decorators, enums) needs the package "esbuild" (or "tsx"), which is not installed; run "npm install --save-dev esbuild" beside the plugin or compile it to JavaScript':
    '无法加载 {place}：{reason}。TypeScript 中超出类型的语法（装饰器、枚举）需要 "esbuild"（或 "tsx"）包，但尚未安装；请在插件目录运行 "npm install --save-dev esbuild"，或先编译为 JavaScript',
  '{place} cannot be loaded: {reason}. Compile the plugin to JavaScript':
    '无法加载 {place}：{reason}。请将插件编译为 JavaScript',
  // query/bind.ts
  'There is no index "{field}"; there are {allowed}': '没有名为 "{field}" 的索引；可用的有 {allowed}',
  'Invalid value for the index "{field}": {problem}': '索引 "{field}" 的值不合适：{problem}',
  'Text operators need an index of strings; the index "{field}" has keys of type {type}':
    '只有字符串索引可按文本查找；索引 "{field}" 的键类型为 {type}',
  'A query has at most {maxConditions} conditions, nested at most {maxDepth} deep':
    '一个查询最多包含 {maxConditions} 个条件，嵌套不超过 {maxDepth} 层',
  'There is no condition "{op}"': '没有名为 "{op}" 的条件',
  'Cannot sort by "{field}": the indexes are {allowed}': '不能按 "{field}" 排序：可用的索引有 {allowed}',
  'The sort names the field "{field}" twice; the indexes are {allowed}':
    '排序中字段 "{field}" 出现两次；可用的索引有 {allowed}',
  // query/list-parameters.ts
  '"sort" is <field>, <field>,asc or <field>,desc, not "{value}"':
    '"sort" 的形式为 <字段>、<字段>,asc 或 <字段>,desc，而不是 "{value}"',
  '"sort" is <field>, <field>,asc or <field>,desc, not "{value}"; the fields are the indexes {allowed}':
    '"sort" 的形式为 <字段>、<字段>,asc 或 <字段>,desc，而不是 "{value}"；字段为索引 {allowed}',
  // query/parameters.ts
  'There is no query parameter "{parameter}" here; there are {allowed}':
    '此处没有查询参数 "{parameter}"；可用的有 {allowed}',
  'The query parameter "{parameter}" is given twice': '查询参数 "{parameter}" 重复给出',
  'The query parameter "{parameter}" is not percent-encoded UTF-8': '查询参数 "{parameter}" 不是百分号编码的 UTF-8',
  '"{parameter}" is a whole number from 1 to {most}, not "{value}"':
    '"{parameter}" 应为 1 到 {most} 的整数，而不是 "{value}"',
  '"{parameter}" is true or false, not "{value}"': '"{parameter}" 应为 true 或 false，而不是 "{value}"',
  '"{parameter}" is one of {allowed}, not "{value}"': '"{parameter}" 应为 {allowed} 之一，而不是 "{value}"',
  // query/query.ts
  '"{parameter}" is a whole number from 1, not {value}': '"{parameter}" 应为不小于 1 的整数，而不是 {value}',
  // query/selector.ts
  'The selector term "{term}" is malformed at column {column}: expected {expected}':
    '选择器条件 "{term}" 在第 {column} 列有误：应为{expected}',
  'a label key': '标签键',
  'the name of an index': '索引名称',
  'a label key: an optional DNS prefix and "/", then at most 63 letters, digits, ".", "_", "-"':
    '标签键：可选的 DNS 前缀和 "/"，其后最多 63 个字母、数字、"."、"_" 或 "-"',
  'a label value: at most 63 letters, digits, ".", "_", "-", with a letter or digit at both ends':
    '标签值：最多 63 个字母、数字、"."、"_" 或 "-"，首尾为字母或数字',
  '"=", "==", "!=", "in (…)", "notin (…)", "," or the end': '"="、"=="、"!="、"in (…)"、"notin (…)"、"," 或结尾',
  '"=", "==", "!=", ">", ">=", "<", "<=", "^=", "$=", "*=", "in (…)", "notin (…)", "," or the end':
    '"="、"=="、"!="、">"、">="、"<"、"<="、"^="、"$="、"*="、"in (…)"、"notin (…)"、"," 或结尾',
  'at least one value': '至少一个值',
  '"," or ")"': '"," 或 ")"',
  'a closing "': '结束引号 "',
  '\\" or \\\\': '\\" 或 \\\\',
  '"," or the end': '"," 或结尾',
  // query/work.ts
  'The query took longer than {limit} ms; request less, or add a condition that an index narrows':
    '查询耗时超过 {limit} 毫秒；请缩小范围，或使用索引能够收窄的条件',
  // query/values.ts
  '"prefix" is for indexes of texts; the keys of "{field}" are none': '"prefix" 仅用于文本索引；"{field}" 的键不是文本',
  // resource/change.ts
  'A change of {kind} is in a version that its declaration lacks': '{kind} 的某项变更所用的版本不在其声明中',
  // resource/client.ts
  '"{identity}" may not {verb} {resource}{name}: {reason}':
    '"{identity}" 无权对 {resource}{name} 执行 {verb}：{reason}',
  '"since" is a revision, a decimal number, not "{value}"': '"since" 应为十进制修订号，而不是 "{value}"',
  'The object cannot be written as JSON: {reason}': '对象无法写成 JSON：{reason}',
  // resource/feed.ts
  'This replica cannot read the newest state of the store at the moment': '此副本暂时无法确认存储的最新状态',
  // resource/hidden.ts
  'Operation {operation}: whoever may not get "{name}" may test, copy and move its metadata alone':
    '操作 {operation}：无权获取 "{name}" 的调用者只能对其元数据执行 test、copy 和 move',
  // resource/lifecycle.ts
  'expected a JSON object': '应为 JSON 对象',
  'metadata: expected an object': 'metadata 应为对象',
  'expected "{expected}", got {value}': '应为 "{expected}"，实际为 {value}',
  'must equal the name in the path, "{expected}"; a name never changes':
    '必须与路径中的名称 "{expected}" 相同；名称不可更改',
  'The object "{name}" is being deleted: finalizers can be removed, status, labels and annotations can change, but not {what}':
    '对象 "{name}" 正在删除：可以移除 finalizer，可以修改 status、labels 和 annotations，但不能修改 {what}',
  // resource/memory.ts
  '{kind} is served by other processes: this one was started for {models}':
    '{kind} 由其他进程提供：本进程只提供 {models}',
  'The objects of {kind} have moved to another store': '{kind} 的对象已移到另一个存储',
  'The objects of {kind} are moving to another store: they can be read, and not changed':
    '{kind} 的对象正在移到另一个存储：可以读取，不能修改',
  'The index "{index}" of {kind} is being built: {percent} %': '{kind} 的索引 "{index}" 正在构建：{percent} %',
  '{model} cannot be replaced: its owner has not registered it with this version, plural and scope':
    '{model} 无法替换：其所有者没有以此版本、复数名和作用域注册它',
  'An index of the selector was replaced; list again': '选择器所用的索引已被替换；请重新列出',
  'The indexes of {kind} are being built: {percent} %': '正在构建 {kind} 的索引：{percent} %',
  // resource/patch.ts
  'A merge patch must be a JSON object': '合并补丁必须是 JSON 对象',
  'A JSON patch must be a list of operations': 'JSON 补丁必须是操作列表',
  'A JSON patch may have at most {limit} {limit|operation|operations}, this one has {count}':
    'JSON 补丁最多 {limit} 个操作，实际 {count} 个',
  'Operation {index} is not an object': '操作 {index} 不是对象',
  'Operation {index}: "op" must be one of add, remove, replace, move, copy, test; got {value}':
    '操作 {index}："op" 必须是 add、remove、replace、move、copy、test 之一，实际为 {value}',
  'Operation {index}: "{member}" must be a JSON pointer, such as "/spec/name"; got {value}':
    '操作 {index}："{member}" 必须是 JSON 指针，例如 "/spec/name"；实际为 {value}',
  'Operation {index}: "value" is missing': '操作 {index}：缺少 "value"',
  'Operation {index}: "{from}" cannot be moved into itself': '操作 {index}：不能把 "{from}" 移动到其自身内部',
  'Operation {index}: "{token}" in "{path}" is not an array index':
    '操作 {index}："{path}" 中的 "{token}" 不是数组下标',
  'operation {index}: no value at "{path}"': '操作 {index}："{path}" 处不存在任何内容',
  'operation {index}: the object itself cannot be removed': '操作 {index}：不能移除对象本身',
  'Operation {index}: test failed: the value at "{path}" differs': '操作 {index}："{path}" 处的值不同',
  'operation {index}: the object would be nested more than {limit} levels deep at "{path}"':
    '操作 {index}：对象在 "{path}" 处的嵌套将超过 {limit} 层',
  'The patch lets the object grow by more than {limit} bytes': '补丁使对象增长超过 {limit} 字节',
  'The patch takes too long: at operation {index} it has moved more than {limit} members and items':
    '补丁耗时过长：到操作 {index} 为止移动的成员和列表项超过 {limit} 个',
  'The object would have more than {limit} members': '对象的成员将超过 {limit} 个',
  'The object would have more than {limit} objects and lists within it': '对象内的对象和列表将超过 {limit} 个',
  // resource/placement.ts
  '{kind} is placed in "{wanted}", its objects are in {found}: kindred model move {model} --to {wanted}':
    '{kind} 配置在 "{wanted}" 中，但其对象在 {found} 中：kindred model move {model} --to {wanted}',
  'The objects of {kind} are in the store "{store}", which the setting "stores" does not name':
    '{kind} 的对象在存储 "{store}" 中，而设置 "stores" 没有列出它',
  // resource/reader.ts
  'There is no {kind} "{name}"': '不存在名为 "{name}" 的 {kind}',
  'What is stored of {kind} differs from the indexes of this replica; try again':
    '{kind} 的存储内容与此副本的索引不一致，请重试',
  // resource/registry.ts
  'The model {kind} ({version}) is not registered': '模型 {kind}（{version}）未注册',
  // resource/resource.ts
  'The objects of this page have {bytes} bytes, more than the {limit} that a page may have; ask for a smaller "size"':
    '此页的对象共 {bytes} 字节，超过一页允许的 {limit} 字节；请减小 "size"',
  // resource/watch/live-page.ts
  'All live pages together may have {limit} rows; ask for a smaller page, or later':
    '所有实时页面合计最多 {limit} 行；请缩小页面或稍后重试',
  'The live pages of "{identity}" may have {limit} rows together; ask for a smaller page, or close another one':
    '"{identity}" 的实时页面合计最多 {limit} 行；请缩小页面或关闭其他页面',
  // resource/watch/replay.ts
  'The database went away while the list was being sent; list again': '发送列表期间数据库不可用；请重新列出',
  // resource/watch/rights.ts
  'What "{identity}" may see has changed; watch again': '"{identity}" 可见的内容已变化；请重新监视',
  // resource/watch/watches.ts
  'The revision {since} is greater than the newest, {newest}': '修订号 {since} 大于最新的 {newest}',
  'This replica fell behind the change log; list again': '此副本落后于变更日志；请重新列出',
  'The watch failed': '监视失败',
  'The model {kind} is no longer registered': '模型 {kind} 已注销',
  'The service is shutting down': '服务正在关闭',
  // resource/managed-fields.ts
  'is not told apart from the other items: its keys are missing, or those of another':
    '无法与其他项区分：缺少键，或键与另一项相同',
  // resource/commits.ts
  'Another {kind} already has the value {value} in the unique index "{index}"':
    '另一个 {kind} 在唯一索引 "{index}" 中已有值 {value}',
  'The lease "{lease}" is held by another replica': '租约 "{lease}" 已由其他副本持有',
  // resource/object-changes.ts
  'metadata.managedFields must be nil': 'metadata.managedFields 必须为空',
  'The version in the request is {given}, the current version of "{name}" is {current}':
    '请求中的版本为 {given}，"{name}" 的当前版本为 {current}',
  'must be {expected}: server-side apply works in that version alone; got {value}':
    '必须为 {expected}：服务端应用仅在该版本中可用；实际为 {value}',
  '{kind} takes no server-side apply before replicas with another version of the plugin are gone':
    '在使用插件其他版本的副本退出之前，{kind} 不接受服务端应用',
  // resource/object-check.ts
  'is stored as {version}, which the declaration lacks': '以 {version} 存储，而声明中没有该版本',
  // resource/object-writes.ts
  'The object would have {size} bytes; at most {limit} are allowed': '对象将有 {size} 字节；最多允许 {limit} 字节',
  // resource/stored-version.ts
  'would be lost in {version}': '在 {version} 中会丢失',
  // resource/writer.ts
  'There is a {kind} "{name}" already': '名为 "{name}" 的 {kind} 已存在',
  'The ETag of "{name}" does not match If-Match': '"{name}" 的实体标签与 If-Match 不符',
  'The object "{name}" is changing too quickly': '对象 "{name}" 更改过于频繁',
  // schema/defaults.ts
  'The defaults of the model would add more than {members} members or {growth} bytes to the object':
    '模型的默认值将为对象增加超过 {members} 个成员或 {growth} 字节',
  // schema/document.ts
  'contains itself without end': '在自身内部无限重复设置',
  'does not satisfy its own schema: at "{at}" it {reason}': '不符合自身的模式：在 "{at}" 处，{reason}',
  // schema/invalid-model.ts
  '{count} mistakes: {en}': '{count} 处错误：{zh}',
  // schema/list-types.ts
  'atomic, set or map': 'atomic、set 或 map',
  'atomic or granular': 'atomic 或 granular',
  'a list with the names of at least one member, each once': '至少包含一个成员名称且不重复的列表',
  'needs "type": "array" beside it': '需要同时声明 "type": "array"',
  'needs "type": "object" beside it': '需要同时声明 "type": "object"',
  'stands beside a list type of "map", and beside no other': '必须且只能与列表类型 "map" 一起声明',
  'needs items that are strings, numbers, booleans or atomic': '要求列表项为字符串、数字、布尔值或原子值',
  'names "{name}", which is no string, number or boolean of the items':
    '列出了 "{name}"，但它不是列表项中的字符串、数字或布尔值',
  'names "{name}", which the items neither require nor have a default for':
    '列出了 "{name}"，但列表项既不要求它，也没有为它设置默认值',
  // schema/messages.ts
  'must be {type}, got {actual}': '类型必须为 {type}，实际为 {actual}',
  'must be one of {allowed}': '必须为以下值之一：{allowed}',
  'must be {expected}': '必须为 {expected}',
  'is not a field of the model; known here are: {allowed}': '不是模型的字段；此处已知的字段为：{allowed}',
  'must have at least {limit} {limit|character|characters}, has {length}':
    '至少需要 {limit} 个字符，实际为 {length} 个',
  'must have at most {limit} {limit|character|characters}, has {length}': '最多 {limit} 个字符，实际为 {length} 个',
  'must match the pattern {pattern}': '必须匹配模式 {pattern}',
  'must be of the format {format}: {expected}': '必须符合格式 {format}：{expected}',
  'must be at least {limit}': '必须大于或等于 {limit}',
  'must be at most {limit}': '必须小于或等于 {limit}',
  'must be greater than {limit}': '必须大于 {limit}',
  'must be less than {limit}': '必须小于 {limit}',
  'must be a multiple of {limit}': '必须为 {limit} 的倍数',
  'must have at least {limit} {limit|item|items}, has {count}': '至少需要 {limit} 项，实际为 {count} 项',
  'must have at most {limit} {limit|item|items}, has {count}': '最多 {limit} 项，实际为 {count} 项',
  'must not repeat {value}: item {first} has it already': '不得重复 {value}：第 {first} 项已经是它',
  'must not contain equal items: items {first} and {second} are equal':
    '不能包含相同的项：第 {first} 项与第 {second} 项相同',
  'must have at least {limit} {limit|item|items} of the kind it has to contain, has {count}':
    '至少需要包含 {limit} 个符合要求的项，实际为 {count} 个',
  'must have at most {limit} {limit|item|items} of the kind it has to contain, has {count}':
    '最多只能包含 {limit} 个符合要求的项，实际为 {count} 个',
  'is an item that the model does not allow': '是模型不允许的项',
  'must have at least {limit} {limit|member|members}, has {count}': '至少需要 {limit} 个成员，实际为 {count} 个',
  'must have at most {limit} {limit|member|members}, has {count}': '最多 {limit} 个成员，实际为 {count} 个',
  'is not an allowed name: {reason}': '不是允许的名称：{reason}',
  'is required beside "{name}"': '存在 "{name}" 时为必填项',
  'must satisfy at least one of the alternatives': '必须至少符合其中一个备选模式',
  'must satisfy one of the alternatives, satisfies none': '必须符合其中一个备选模式，实际均不符合',
  'must satisfy exactly one of the alternatives, satisfies {passing}': '必须恰好符合一个备选模式，实际符合 {passing}',
  'must not satisfy the excluded schema': '不得符合被排除的模式',
  'is not allowed': '不允许出现',
  'takes more than {limit} steps to validate; send fewer items or shorter texts, or simplify the schema':
    '与模型比较需要超过 {limit} 步；请减少项数、缩短文本或简化模式',
  'is required': '为必填项',
  // schema/pattern.ts
  'is not a regular expression of ECMA 262 with the u flag: {reason}': '不是带 u 标志的 ECMA 262 正则表达式：{reason}',
  'could take very long on some texts, and needs look-around, back-references or modifiers, which the linear-time engine does not have: {pattern}':
    '在某些文本上可能耗时极长，且使用了线性时间引擎不支持的环视、反向引用或修饰符：{pattern}',
  'is too large: its repetitions written out have more than {reason} parts: {pattern}':
    '过大：展开重复后超过 {reason} 个部分：{pattern}',
  // schema/read.ts
  'a list of rules': '规则的列表',
  'true or false': 'true 或 false',
  'a type: plural.group, or the plural alone in the empty group': '类型：plural.group，空组时仅为复数名',
  'an object of texts by language, such as { "en": "Title" }': '按语言给出文本的对象，例如 { "en": "Title" }',
  'a schema: an object, true or false': '模式：对象、true 或 false',
  'is nested more than {limit} deep, or contains itself': '嵌套超过 {limit} 层，或包含自身',
  'is not a keyword of JSON Schema 2020-12 or OpenAPI that the service can enforce':
    '不是服务可以执行的 JSON Schema 2020-12 或 OpenAPI 关键字',
  'refers to itself, which it can only as the whole of "spec", "status" or "schema"':
    '引用了自身，这只能用于整个 "spec"、"status" 或 "schema"',
  'is true, which needs "{limit}" beside it': '为 true 时需要同时提供 "{limit}"',
  'a JSON value': ' JSON 值',
  'a list': '列表',
  'an object': '对象',
  'a number': '数字',
  'a number greater than 0': '大于 0 的数字',
  'an integer, 0 or more': '大于或等于 0 的整数',
  'a list with at least one schema': '至少包含一个模式的列表',
  'a string': '字符串',
  'repeats "{name}"': '重复了 "{name}"',
  'a type or a list with at least one': '类型或至少包含一个类型的列表',
  'a list with at least one value': '至少包含一个值的列表',
  'a plain name': '简单名称',
  'a URI without a fragment': '不带片段的 URI',
  // schema/references.ts
  'refers to "{ref}", which is not in this document; schemas elsewhere are not fetched':
    '引用了 "{ref}"，但它不在此文档中；不会获取其他位置的模式',
  'has the malformed reference "{ref}"': '包含格式错误的引用 "{ref}"',
  'refers to itself without a step into the object': '在未进入下级成员的情况下引用了自身',
  // schema/standard-schema.ts
  'is a Standard Schema of {vendor} that provides no JSON Schema: convert it, with Zod by z.toJSONSchema(…)':
    '是 {vendor} 的 Standard Schema，但不提供 JSON Schema：请先转换，例如 Zod 的 z.toJSONSchema(…)',
  'is a schema of {vendor} that cannot be written as JSON Schema, so the service cannot enforce it: {reason}':
    '是 {vendor} 的模式，无法写成 JSON Schema，因此服务无法执行：{reason}',
  'is a schema of {vendor} with a function of its own (refine, check, trim and the like), which JSON Schema cannot say, so the service cannot enforce it':
    '是带有自定义函数（refine、check、trim 等）的 {vendor} 模式，JSON Schema 无法表达，因此服务无法执行',
  // store/failure.ts
  'The database cannot be reached at the moment; nothing was changed ({reason})':
    '数据库暂时不可用，没有做任何更改（{reason}）',
  'The storage is full; nothing was changed ({reason})': '存储空间已满，没有做任何更改（{reason}）',
  'The outcome of the write is unknown; read the object before you retry ({reason})':
    '无法确定写入是否生效，重试前请重新读取该对象（{reason}）',
  'Changes after revision {since} are no longer kept; the oldest revision to continue from is {oldest}':
    '修订号 {since} 之后的变更已不再保留，最早可从修订号 {oldest} 继续',
  // resource/memory.ts, rules.ts, writer.ts, plugin/model-states.ts
  'Another contract of {kind} became active (model generation {generation}), which this replica does not know: start it with the newer version of the plugin':
    '{kind} 的另一份契约已生效（模型代次 {generation}），本副本不认识它：请用插件的较新版本启动本副本',
  'The contract of {kind} is changing too quickly': '{kind} 的契约变化过快',
  '{kind} takes no writes before replicas with another version of the plugin are gone':
    '在使用插件其他版本的副本退出之前，{kind} 不接受写入',
  'The service alone writes the status of a ModelState': 'ModelState 的 status 只能由服务自身写入',
  'Other replicas serve models by contracts that this one cannot serve by': '其他副本按本副本无法遵循的契约提供模型',
  'Too many writes are waiting; nothing was changed': '等待中的写入过多，没有做任何更改',
  // webhook/behaviour.ts
  'must be an absolute http or https URL without user name, password and fragment':
    '应为使用 http 或 https 的绝对 URL，且不含用户名、密码和片段',
  'must be a label selector: {problem}': '应为标签选择器：{problem}',
  '"{identity}" cannot create this webhook: it may not {verb} {resource}: {reason}':
    '"{identity}" 无权为此创建 Webhook，缺少对 {resource} 执行 {verb} 的权限：{reason}',
  '"{identity}" may {verb} {resource} only as long as the credential lasts, and a webhook goes on without it: bind a role with this right to the name':
    '"{identity}" 对 {resource} 执行 {verb} 的权限仅随凭据有效，而 Webhook 会在此后继续运行：请将含该权限的角色绑定到该名称',
  'is an unknown member': '不是已知的字段',
  'The state at revision {revision} is not kept any more': '修订号 {revision} 处的状态已不再保留',
  // webhook/delivery-loop.ts
  'There is no delivery "{id}" among the newest ones of this webhook': '此 webhook 最近的投递中没有 "{id}"',
  'The webhook no longer delivers changes of {resource}': '此 webhook 不再投递 {resource} 的变更',
  'The change of revision {revision} is no longer kept': '修订号 {revision} 的变更已不再保留',
  'Too many deliveries of this webhook were asked for and are under way; try again when they have ended':
    '此 webhook 正在进行的手动投递过多；请在其结束后重试',
  // webhook/webhooks.ts
  'Another replica delivers the webhooks, or this one has not begun to; try again':
    'webhook 由其他副本投递，或此副本尚未开始投递；请重试',
  // kube/kinds.ts
  'field is immutable when `immutable` is set': '设置 `immutable` 后，该字段不可更改',
  'is immutable: the type of a Secret never changes': '不可更改：Secret 的类型永不改变',
  'this namespace may not be deleted': '不能删除此命名空间',
  'There are {limit} definitions, as many as the service allows': '已有 {limit} 个定义，达到服务允许的上限',
  'create not allowed while custom resource definition is terminating': '自定义资源定义正在被删除，不允许创建对象',
  'There are no Services: nothing runs here': '没有 Service：这里不运行任何程序',
} as const satisfies Record<string, string>;
