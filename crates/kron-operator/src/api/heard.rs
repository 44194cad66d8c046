//! A `KronJob` as somebody hears of it. What was stored under an older definition, or by a
//! definition that somebody else made, may not be what the types here take: that is about one
//! object, and must not keep anybody from hearing of the others.

use super::{KronJob, KronJobSpec, KronJobStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A `KronJob`, parts of which may be unreadable.
#[derive(Clone, Debug)]
pub struct Heard {
    /// What every object has.
    pub metadata: ObjectMeta,
    /// The spec, or why it cannot be read.
    pub spec: Result<KronJobSpec, String>,
    /// The status, or why it cannot be read.
    pub status: Result<KronJobStatus, String>,
}

impl From<KronJob> for Heard {
    fn from(kronjob: KronJob) -> Self {
        let KronJob { metadata, spec, status } = kronjob;
        Self { metadata, spec: Ok(spec), status: Ok(status.unwrap_or_default()) }
    }
}

impl From<DynamicObject> for Heard {
    fn from(object: DynamicObject) -> Self {
        let DynamicObject { metadata, mut data, .. } = object;
        let mut part = |name: &str| data.get_mut(name).map(Value::take).unwrap_or_default();
        Self { metadata, spec: read(part("spec")), status: status(&part("status")) }
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// All of its fields can be left out, so each can be read alone: to say which one is at fault.
fn status(value: &Value) -> Result<KronJobStatus, String> {
    if value.is_null() {
        return Ok(KronJobStatus::default());
    }
    read(value.clone()).map_err(|why: String| {
        let fields = value.as_object().into_iter().flatten();
        let faults = fields.filter_map(|(name, value)| {
            let why = read::<KronJobStatus>(json!({ name: value })).err()?;
            Some(format!("status.{name}: {why}"))
        });
        faults.reduce(|first, second| format!("{first}; {second}")).unwrap_or(why)
    })
}
