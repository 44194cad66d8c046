//! The Job of a period, from the template of its `KronJob`.
//!
//! Pure. The template stays JSON: a typed one would lose the fields that it does not know.

use crate::api::{
    CHOSEN_ANNOTATION, FINALIZER, GENERATION_ANNOTATION, KRONJOB_LABEL, PERIOD_ANNOTATION,
    PERIOD_LABEL, SEED_ANNOTATION,
};
use crate::convert::{job_name, period_label};
use kron_core::{Decision, UtcSecond};
use serde_json::{Map, Value, json};

/// Whose Job it is.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// Namespace of both.
    pub namespace: &'a str,
    /// Name of the `KronJob`.
    pub name: &'a str,
    /// Which object.
    pub uid: &'a str,
    /// Generation of its spec.
    pub generation: i64,
}

/// The Job of a period.
#[must_use]
pub fn job(
    owner: Owner<'_>,
    template: &Value,
    decision: &Decision<'_>,
    chosen: UtcSecond,
) -> Value {
    let Owner { namespace, name, uid, generation } = owner;
    let period = decision.period();
    let given = |key: &str| {
        let map = template.get("metadata").and_then(|metadata| metadata.get(key));
        map.and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let mut labels = given("labels");
    put(&mut labels, KRONJOB_LABEL, name);
    put(&mut labels, PERIOD_LABEL, &period_label(period));
    let mut annotations = given("annotations");
    put(&mut annotations, PERIOD_ANNOTATION, &period.to_string());
    put(&mut annotations, CHOSEN_ANNOTATION, &chosen.to_string());
    put(&mut annotations, SEED_ANNOTATION, &decision.seed_hash().to_string());
    put(&mut annotations, GENERATION_ANNOTATION, &generation.to_string());
    let mut finalizers: Vec<Value> = template
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    finalizers.push(FINALIZER.into());
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(name, period),
            "namespace": namespace,
            "labels": labels,
            "annotations": annotations,
            "finalizers": finalizers,
            "ownerReferences": [{
                "apiVersion": "kron.io/v1alpha1",
                "kind": "KronJob",
                "name": name,
                "uid": uid,
                "controller": true,
            }],
        },
        "spec": template.get("spec").cloned().unwrap_or_else(|| json!({})),
    })
}

fn put(map: &mut Map<String, Value>, key: &str, value: &str) {
    map.insert(key.into(), value.into());
}
