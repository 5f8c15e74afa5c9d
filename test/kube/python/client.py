"""The Python client of Kubernetes against a service: `python3 client.py URL` prints a line for each case, as TAP."""
import json
import sys
import threading
import time
import traceback

from kubernetes import client, dynamic, watch
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

GROUP, VERSION, NAMESPACE, PLURAL = 'shop.example.com', 'v1', 'default', 'widgets'
API_VERSION = f'{GROUP}/{VERSION}'
PLACE = (GROUP, VERSION, NAMESPACE, PLURAL)
CASES = []


def case(function):
    CASES.append(function)
    return function


def widget(name, spec=None, labels=None):
    metadata = {'name': name, 'labels': labels or {}}
    return {'apiVersion': API_VERSION, 'kind': 'Widget', 'metadata': metadata, 'spec': spec or {}}


def refused(status, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except client.ApiException as error:
        assert error.status == status, f'{error.status} is not {status}: {error.body}'
        return error
    raise AssertionError(f'{status} was expected')


def is_gone(function, *args):
    try:
        function(*args)
    except client.ApiException as error:
        assert error.status == 404, error.body
        return True
    return False


def eventually(condition):
    for _ in range(200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError('not so after 10 s')


@case
def version():
    assert '+kindred' in client.VersionApi().get_code().git_version


@case
def custom_objects():
    api = client.CustomObjectsApi()
    made = api.create_namespaced_custom_object(*PLACE, widget('w1', {'replicas': 1}, {'app': 'a'}))
    assert made['metadata']['generation'] == 1
    refused(409, api.create_namespaced_custom_object, *PLACE, widget('w1'))
    refused(422, api.create_namespaced_custom_object, *PLACE, widget('w2', {'replicas': -1}))
    patched = api.patch_namespaced_custom_object(*PLACE, 'w1', {'spec': {'color': 'red'}})
    assert patched['spec'] == {'replicas': 1, 'color': 'red'}, patched
    refused(409, api.replace_namespaced_custom_object, *PLACE, 'w1', made)
    current = api.get_namespaced_custom_object(*PLACE, 'w1')
    current['spec'] = {'replicas': 4}
    assert api.replace_namespaced_custom_object(*PLACE, 'w1', current)['spec'] == {'replicas': 4}
    told = api.patch_namespaced_custom_object_status(*PLACE, 'w1', {'status': {'replicas': 4}})
    assert told['status'] == {'replicas': 4}
    assert api.get_namespaced_custom_object_scale(*PLACE, 'w1')['spec']['replicas'] == 4
    api.delete_namespaced_custom_object(*PLACE, 'w1', propagation_policy='Foreground')
    # The object stays until the collector has looked for dependents.
    eventually(lambda: is_gone(api.get_namespaced_custom_object, *PLACE, 'w1'))


@case
def lists_in_pages():
    api = client.CustomObjectsApi()
    for i in range(5):
        api.create_namespaced_custom_object(*PLACE, widget(f'p{i}', labels={'set': 'p'}))
    names, token = [], None
    while True:
        more = {'_continue': token} if token else {}
        page = api.list_namespaced_custom_object(*PLACE, limit=2, label_selector='set=p', **more)
        names += [item['metadata']['name'] for item in page['items']]
        token = page['metadata'].get('continue')
        if not token:
            break
    assert names == [f'p{i}' for i in range(5)], names
    api.delete_collection_namespaced_custom_object(*PLACE)
    assert api.list_namespaced_custom_object(*PLACE)['items'] == []


@case
def dynamic_client():
    api = dynamic.DynamicClient(client.ApiClient())
    widgets = api.resources.get(api_version=API_VERSION, kind='Widget')
    widgets.create(body=widget('d1', {'replicas': 1}, {'set': 'd'}), namespace=NAMESPACE)
    assert widgets.get(name='d1', namespace=NAMESPACE).spec.replicas == 1
    merge = 'application/merge-patch+json'
    patch = {'spec': {'replicas': 2}}
    widgets.patch(body=patch, name='d1', namespace=NAMESPACE, content_type=merge)
    assert [one.spec.replicas for one in widgets.get(label_selector='set=d').items] == [2]
    seen = []
    for event in widgets.watch(namespace=NAMESPACE, timeout=1, label_selector='set=d'):
        seen.append((event['type'], event['object'].metadata.name))
    assert seen == [('ADDED', 'd1')], seen
    # This version of the client sends a text alone in an apply.
    applied = widgets.server_side_apply(
        body=json.dumps(widget('d2', {'replicas': 5})), name='d2', namespace=NAMESPACE, field_manager='one'
    )
    assert applied.metadata.managedFields[0].manager == 'one'
    for name in ('d1', 'd2'):
        widgets.delete(name=name, namespace=NAMESPACE)
    maps = api.resources.get(api_version='v1', kind='ConfigMap')
    maps.create(body={'metadata': {'name': 'dm'}, 'data': {'a': '1'}}, namespace=NAMESPACE)
    strategic = 'application/strategic-merge-patch+json'
    patched = maps.patch(body={'data': {'b': '2'}}, name='dm', namespace=NAMESPACE, content_type=strategic)
    assert patched.to_dict()['data'] == {'a': '1', 'b': '2'}


@case
def watches():
    api = client.CustomObjectsApi()
    since = api.list_namespaced_custom_object(*PLACE)['metadata']['resourceVersion']

    def work():
        api.create_namespaced_custom_object(*PLACE, widget('seen'))
        api.patch_namespaced_custom_object(*PLACE, 'seen', {'spec': {'replicas': 1}})
        api.delete_namespaced_custom_object(*PLACE, 'seen')

    worker = threading.Thread(target=work)
    worker.start()
    seen = []
    stream = watch.Watch()
    for event in stream.stream(api.list_namespaced_custom_object, *PLACE, resource_version=since):
        seen.append(event['type'])
        if event['type'] == 'DELETED':
            stream.stop()
    worker.join()
    assert seen == ['ADDED', 'MODIFIED', 'DELETED'], seen


@case
def watches_that_are_too_old():
    api = client.CustomObjectsApi()

    def run():
        for _ in watch.Watch().stream(api.list_namespaced_custom_object, *PLACE, resource_version='999999999'):
            pass

    refused(410, run)


@case
def typed_kinds():
    api = client.CoreV1Api()
    assert api.create_namespace({'metadata': {'name': 'py'}}).status.phase == 'Active'
    api.create_namespaced_config_map('py', client.V1ConfigMap(metadata={'name': 'c'}, data={'a': '1'}))
    # By the schema that the client has built in: a strategic merge patch.
    assert api.patch_namespaced_config_map('c', 'py', {'data': {'b': '2'}}).data == {'a': '1', 'b': '2'}
    secret = client.V1Secret(metadata={'name': 's'}, string_data={'key': 'value'})
    assert api.create_namespaced_secret('py', secret).data == {'key': 'dmFsdWU='}
    moment = [event['object'].metadata.name for event in watch.Watch().stream(api.list_namespace, timeout_seconds=1)]
    assert moment == ['default', 'py'], moment
    api.delete_namespace('py')
    eventually(lambda: [one.metadata.name for one in api.list_namespace().items] == ['default'])


@case
def leases():
    api = client.CoordinationV1Api()
    spec = {'holderIdentity': 'one', 'renewTime': '2026-01-02T03:04:05.123456Z'}
    lease = api.create_namespaced_lease(NAMESPACE, {'metadata': {'name': 'lock'}, 'spec': spec})
    assert lease.spec.renew_time.microsecond == 123456
    lease.spec.holder_identity = 'two'
    assert api.replace_namespaced_lease('lock', NAMESPACE, lease).spec.holder_identity == 'two'
    refused(409, api.replace_namespaced_lease, 'lock', NAMESPACE, lease)


@case
def events():
    core = client.CoreV1Api()
    body = {
        'metadata': {'name': 'e1'},
        'eventTime': '2026-01-02T03:04:05.123456Z',
        'regarding': {'apiVersion': API_VERSION, 'kind': 'Widget', 'name': 'w', 'namespace': NAMESPACE},
        'reason': 'Seen',
        'note': 'It is there',
        'type': 'Normal',
    }
    client.EventsV1Api().create_namespaced_event(NAMESPACE, body)
    found = core.list_namespaced_event(NAMESPACE, field_selector='involvedObject.name=w').items
    assert [one.message for one in found] == ['It is there']


@case
def definitions():
    api = client.ApiextensionsV1Api()
    schema = {'type': 'object', 'properties': {'spec': {'type': 'object', 'properties': {'n': {'type': 'integer'}}}}}
    names = {'plural': 'lamps', 'kind': 'Lamp'}
    served = {'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': schema}}
    spec = {'group': 'py.example.com', 'scope': 'Namespaced', 'names': names, 'versions': [served]}
    api.create_custom_resource_definition({'metadata': {'name': 'lamps.py.example.com'}, 'spec': spec})

    def is_established():
        status = api.read_custom_resource_definition('lamps.py.example.com').status
        conditions = (status and status.conditions) or []
        return any(one.type == 'Established' and one.status == 'True' for one in conditions)

    eventually(is_established)
    objects = client.CustomObjectsApi()
    place = ('py.example.com', 'v1', NAMESPACE, 'lamps')
    lamp = {'apiVersion': 'py.example.com/v1', 'kind': 'Lamp', 'metadata': {'name': 'l'}, 'spec': {'n': 1}}
    assert objects.create_namespaced_custom_object(*place, lamp)['spec'] == {'n': 1}
    api.delete_custom_resource_definition('lamps.py.example.com')


@case
def reviews():
    attributes = {'verb': 'create', 'group': GROUP, 'resource': PLURAL, 'namespace': NAMESPACE}
    body = {'spec': {'resourceAttributes': attributes}}
    assert client.AuthorizationV1Api().create_self_subject_access_review(body).status.allowed


@case
def leader_election():
    led = []

    def elect(name):
        lock = ConfigMapLock('leader', NAMESPACE, name)

        def lead():
            led.append(name)

        config = electionconfig.Config(lock, 3, 2, 1, onstarted_leading=lead, onstopped_leading=lambda: None)
        leaderelection.LeaderElection(config).run()

    for name in ('one', 'two'):
        threading.Thread(target=elect, args=(name,), daemon=True).start()
    eventually(lambda: len(led) > 0)
    time.sleep(2)
    assert len(led) == 1, led


def main():
    configuration = client.Configuration()
    configuration.host = f'{sys.argv[1]}/kube'
    client.Configuration.set_default(configuration)
    print(f'1..{len(CASES)}')
    for function in CASES:
        try:
            function()
            print(f'ok {function.__name__}', flush=True)
        except Exception:
            print(f'not ok {function.__name__}', flush=True)
            traceback.print_exc()


main()
