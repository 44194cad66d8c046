//! What the container of a `CronJob` runs, as a command of the host.

use crate::draft::{Draft, not_carried_over};
use crate::message::{duration, quoted};
use crate::yaml::Node;
use kron_tab::words;

/// Settings that are read, or that a single run does not depend on.
const JOB: [&str; 8] = [
    "template",
    "activeDeadlineSeconds",
    "backoffLimit",
    "parallelism",
    "completions",
    "ttlSecondsAfterFinished",
    "completionMode",
    "suspend",
];
const POD: [&str; 4] = ["containers", "initContainers", "restartPolicy", "activeDeadlineSeconds"];
const CONTAINER: [&str; 7] =
    ["name", "image", "imagePullPolicy", "command", "args", "env", "workingDir"];

/// Variables of a container.
struct Variables {
    /// Those with a value in the manifest.
    known: Vec<(String, String)>,
    /// Those whose value is somewhere else.
    elsewhere: Vec<String>,
    /// Whether others may come from elsewhere.
    open: bool,
}

/// Fills in what is run.
pub(super) fn read(spec: &Node, draft: &mut Draft) {
    let Some(job) = spec.at(&["jobTemplate", "spec"]) else {
        return draft.refuse("`spec.jobTemplate.spec` is missing");
    };
    let Some(pod) = job.at(&["template", "spec"]) else {
        return draft.refuse("the job has no pod template");
    };
    if pod.get("initContainers").is_some_and(|containers| !containers.items().is_empty()) {
        draft.refuse("containers that run before the others cannot be carried over");
    }
    for key in ["parallelism", "completions"] {
        let count = job.get(key).and_then(Node::text);
        if count.is_some_and(|count| count != "1") {
            draft.refuse(format!("`{key}` asks for several runs at a time; an entry has one"));
        }
    }
    let container = match pod.get("containers").map_or(&[][..], Node::items) {
        [container] => container,
        [] => return draft.refuse("there is no container"),
        several => {
            return draft
                .refuse(format!("there are {} containers; an entry runs one", several.len()));
        }
    };
    let image = container.get("image").and_then(Node::text).unwrap_or("unknown");
    draft.change(format!(
        "runs on the host with the rights of Kron, not in the image {}",
        quoted(image)
    ));
    let variables = variables(container, draft);
    command(container, &variables, draft);
    if let Some(directory) = container.get("workingDir").and_then(Node::text) {
        draft.field("cwd", directory);
    }
    for (name, value) in &variables.known {
        draft.field("env", format!("{name}={value}"));
    }
    timeout(job, pod, draft);
    let retried = job.get("backoffLimit").and_then(Node::text) != Some("0")
        || pod.get("restartPolicy").and_then(Node::text) == Some("OnFailure");
    if retried {
        draft.change("a run that fails is not tried again");
    }
    let mut lost = Vec::new();
    for (node, prefix, known) in
        [(job, "job", &JOB[..]), (pod, "pod", &POD[..]), (container, "container", &CONTAINER[..])]
    {
        let unknown = node.keys().filter(|key| !known.contains(key));
        lost.extend(unknown.map(|key| format!("{prefix}.{key}")));
    }
    lost.extend(variables.elsewhere.iter().map(|name| format!("env {name}")));
    draft.changes.extend(not_carried_over(&lost));
}

fn variables(container: &Node, draft: &mut Draft) -> Variables {
    let open = container.get("envFrom").is_some();
    let mut variables = Variables { known: Vec::new(), elsewhere: Vec::new(), open };
    for item in container.get("env").map_or(&[][..], Node::items) {
        let Some(name) = item.get("name").and_then(Node::text) else {
            draft.refuse("a variable has no name");
            continue;
        };
        variables.known.retain(|(known, _)| known != name);
        if item.get("valueFrom").is_some() {
            variables.elsewhere.push(name.into());
            continue;
        }
        let value = item.get("value").and_then(Node::text).unwrap_or_default();
        match substitute(value, &variables) {
            Ok(value) => variables.known.push((name.into(), value)),
            Err(reason) => draft.refuse(reason),
        }
    }
    variables
}

fn command(container: &Node, variables: &Variables, draft: &mut Draft) {
    let mut words = Vec::new();
    for key in ["command", "args"] {
        for item in container.get(key).map_or(&[][..], Node::items) {
            let Some(text) = item.text() else {
                return draft.refuse(format!("`{key}` is not a list of words"));
            };
            match substitute(text, variables) {
                Ok(word) => words.push(word),
                Err(reason) => draft.refuse(reason),
            }
        }
        if key == "command" && words.is_empty() {
            return draft.refuse("the command is inside the image: `command` is not given");
        }
    }
    // A script in a block of YAML ends in a line break that says nothing.
    for i in 1..words.len() {
        if words[i - 1].ends_with('c') && words[i - 1].starts_with('-') {
            let length = words[i].trim_end_matches('\n').len();
            words[i].truncate(length);
        }
    }
    draft.hints = words.iter().skip(1).cloned().collect();
    draft.fields.insert(0, ("command", words::join(&words)));
}

/// Expands `$(NAME)`; what names no variable stays as it is, as in Kubernetes.
fn substitute(text: &str, variables: &Variables) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        let reference = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let Some((name, after)) = reference else {
            out.push('$');
            continue;
        };
        let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
        if let Some((_, value)) = variables.known.iter().find(|(known, _)| known == name) {
            out.push_str(value);
        } else if variables.elsewhere.iter().any(|known| known == name)
            || (is_name && (variables.open || name.starts_with("KUBERNETES_")))
        {
            return Err(format!("the value of {} is not in the manifest", quoted(name)));
        } else {
            out.push_str("$(");
            out.push_str(name);
            out.push(')');
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn timeout(job: &Node, pod: &Node, draft: &mut Draft) {
    for node in [job, pod] {
        let Some(text) = node.get("activeDeadlineSeconds").and_then(Node::text) else { continue };
        match text.parse::<u32>() {
            Ok(seconds) if seconds > 0 => draft.field("timeout", duration(seconds.into())),
            _ => draft.refuse(format!(
                "`activeDeadlineSeconds` is not a number of seconds: {}",
                quoted(text)
            )),
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        let variables = Variables {
            known: vec![("A".into(), "x y".into())],
            elsewhere: vec!["S".into()],
            open: false,
        };
        for (text, expected) in [
            ("a $(A) b", Some("a x y b")),
            ("$$(A) $$", Some("$(A) $")),
            ("$(date +%F) $(B) $C ${D}", Some("$(date +%F) $(B) $C ${D}")),
            ("$(S)", None),
            ("$(KUBERNETES_SERVICE_HOST)", None),
            ("$(", Some("$(")),
            ("$", Some("$")),
        ] {
            assert_eq!(substitute(text, &variables).ok().as_deref(), expected, "{text}");
        }
        let open = Variables { open: true, ..variables };
        assert!(substitute("$(B)", &open).is_err());
        assert_eq!(substitute("$(date +%F)", &open).as_deref(), Ok("$(date +%F)"));
    }
}
