"""The manifests of bindings/kubernetes and bindings/wasmcloud, as far as they can be checked without a cluster."""

import pathlib
from typing import Any

import kubernetes_validate
import yaml

BINDINGS = pathlib.Path(__file__).parents[2] / "bindings"
KUBERNETES = "1.37.0"

# The fields of a `WorkloadDeployment` in wasmCloud's operator (`runtime.wasmcloud.dev/v1alpha1`), as far as the example
# uses them: a type, a list of one kind of thing, or the fields of an object; `str: str` is any name.
NAME = {"name": str}
DEPLOYMENT = {
    "apiVersion": str,
    "kind": str,
    "metadata": NAME,
    "spec": {
        "replicas": int,
        "deployPolicy": str,
        "template": {
            "spec": {
                "hostSelector": {str: str},
                "components": [
                    {
                        **NAME,
                        "image": str,
                        "poolSize": int,
                        "localResources": {"volumeMounts": [{**NAME, "mountPath": str}]},
                    }
                ],
                "hostInterfaces": [{"namespace": str, "package": str, "interfaces": [str], "config": {str: str}}],
                "volumes": [{**NAME, "hostPath": {"path": str}}],
            }
        },
    },
}


def fits(value: Any, shape: Any) -> bool:
    if isinstance(shape, type):
        return type(value) is shape
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(one, shape[0]) for one in value)
    fields = {name: shape.get(name, shape.get(str)) for name in value} if isinstance(value, dict) else {"": None}
    return all(inner is not None and fits(value[name], inner) for name, inner in fields.items())


def documents(file: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((BINDINGS / file).read_text()))


def test_kubernetes_knows_every_field_and_what_belongs_together_does():
    service, replicas, _, placement = documents("kubernetes/talktree.yaml")
    for document in documents("kubernetes/talktree.yaml"):
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
    for one in (service, replicas):
        assert one["metadata"]["name"] == "talktree"
    assert replicas["spec"]["serviceName"] == "talktree"
    names = [f"talktree-{number}.talktree:7411" for number in range(replicas["spec"]["replicas"])]
    upstreams = (BINDINGS / "kubernetes/replicas.conf").read_text()
    assert all(name in upstreams for name in names) and upstreams.count("server ") == len(names)
    for one in (replicas, placement):
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert one["spec"]["selector"]["matchLabels"] == labels
    # A store has one writer.
    claim = replicas["spec"]["volumeClaimTemplates"][0]
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]


def test_wasmcloud_knows_every_field_and_a_tenant_is_never_there_twice():
    [deployment] = documents("wasmcloud/lattice.yaml")
    assert fits(deployment, DEPLOYMENT)
    assert (deployment["apiVersion"], deployment["kind"]) == ("runtime.wasmcloud.dev/v1alpha1", "WorkloadDeployment")
    assert deployment["spec"]["replicas"] == 1 and deployment["spec"]["deployPolicy"] == "Recreate"
    workload = deployment["spec"]["template"]["spec"]
    mounted = {
        mount["name"]
        for one in workload["components"]
        for mount in one.get("localResources", {}).get("volumeMounts", [])
    }
    assert mounted == {volume["name"] for volume in workload["volumes"]}
