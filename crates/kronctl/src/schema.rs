//! What the resource's definition says of a manifest: which fields there are, and what
//! may stand in them. The definition is the one that clusters get, so that nothing is
//! accepted here that an API server refuses. Its CEL rules are left out: the engine
//! knows better what is wrong with a duration or a parameter.

use kron_core::{Span, nearest, quoted};
use kron_import::yaml::{Kind, Node, Pair, Scalar};
use kron_operator::api;
use kron_tab::Problem;
use kron_term::diagnostic::Finding;
use serde_json::{Map, Number, Value};

/// So many names are listed; of more, where they are.
const LISTED: usize = 12;

/// The schema of `spec`.
#[must_use]
pub fn spec() -> Value {
    let definition = serde_json::to_value(api::definition()).unwrap_or_default();
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    definition.pointer(path).cloned().unwrap_or_default()
}

/// Something wrong with a field.
#[must_use]
pub fn finding(path: &str, problem: Problem) -> Finding {
    let message = format!("{path}: {}", problem.message).into();
    Finding { path: Some(path.into()), ..Finding::error(Problem { message, ..problem }) }
}

/// Whether somebody has to look into a node, or its key says it all.
#[must_use]
pub fn place(node: &Node, key: Span) -> Span {
    if matches!(node.kind, Kind::Scalar(_)) { node.span } else { key }
}

/// Holds a node against a schema. `key` is where it is called by its name.
pub fn check(node: &Node, key: Span, schema: &Value, path: &str, findings: &mut Vec<Finding>) {
    let mut found = |problem: Problem| findings.push(finding(path, problem));
    let at = place(node, key);
    let wanted = schema["type"].as_str().unwrap_or_default();
    let value = match &node.kind {
        Kind::Scalar(scalar) => Some(scalar_value(scalar)),
        _ => None,
    };
    match (wanted, &node.kind, &value) {
        ("object", Kind::Map(pairs), _) => object(node, pairs, key, schema, path, findings),
        ("array", Kind::List(items), _) => {
            if let Some(most) =
                schema["maxItems"].as_u64().filter(|most| items.len() as u64 > *most)
            {
                let message = format!("there are {} items", items.len());
                found(
                    Problem::new("too-many-items", at, message).expect(format!("at most {most}")),
                );
            }
            for (number, item) in items.iter().enumerate() {
                let path = format!("{path}[{number}]");
                check(item, item.span, &schema["items"], &path, findings);
            }
        }
        ("string", _, Some(Value::String(text))) => {
            if let Some(problem) = text_problem(text, at, schema) {
                found(problem);
            }
        }
        ("number" | "integer", _, Some(Value::Number(number)))
            if wanted == "number" || !number.is_f64() =>
        {
            let number = number.as_f64().unwrap_or_default();
            let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
            let is_out =
                least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most);
            if is_out {
                let message = format!("`{number}` is out of range");
                let bound = |bound: Option<f64>| bound.map_or("…".into(), |b| b.to_string());
                let expected = format!("{}-{}", bound(least), bound(most));
                found(Problem::new("out-of-range", at, message).senseless().expect(expected));
            }
        }
        ("boolean", _, Some(Value::Bool(_))) | ("", _, Some(Value::String(_))) => {}
        ("", _, Some(Value::Number(number))) if !number.is_f64() => {}
        // Whatever is not described may be anything.
        ("", _, _) if schema["x-kubernetes-int-or-string"] != true => {}
        _ => found(wrong_type(node, value.as_ref(), at, schema)),
    }
}

fn object(
    node: &Node,
    pairs: &[Pair],
    key: Span,
    schema: &Value,
    path: &str,
    findings: &mut Vec<Finding>,
) {
    let known = schema["properties"].as_object();
    let others = &schema["additionalProperties"];
    // What is null is as if it were not there.
    for Pair { key, span, value } in pairs.iter().filter(|pair| pair.value.kind != Kind::Null) {
        let below = format!("{path}.{}", key.text);
        let schema = known.and_then(|known| known.get(&key.text));
        match (schema.unwrap_or(others), known) {
            // A mapping of which nothing is said may have anything in it.
            (Value::Null, None) => {}
            (Value::Null, Some(known)) => {
                findings.push(finding(&below, unknown_field(&key.text, *span, known, path)));
            }
            (schema, _) => check(value, *span, schema, &below, findings),
        }
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if node.get(name).is_none() {
            let problem = Problem::new("missing-field", key, "this is missing");
            let schema = &schema["properties"][name];
            let problem = problem.expect(type_words(schema["type"].as_str().unwrap_or_default()));
            findings.push(finding(&format!("{path}.{name}"), problem));
        }
    }
}

/// A field that does not exist.
#[must_use]
pub fn unknown_field(name: &str, at: Span, known: &Map<String, Value>, path: &str) -> Problem {
    let near = nearest(name, known.keys().map(String::as_str));
    let expected = if known.len() > LISTED {
        format!("one of {} fields: see `kubectl explain kronjob.{path}`", known.len())
    } else {
        one_of(known.keys().map(String::as_str))
    };
    Problem::new("unknown-field", at, format!("unknown field {}", quoted(name)))
        .found(name)
        .expect(expected)
        .hint_if(near.map(|near| format!("did you mean `{near}`?")))
}

/// A list of words, for a message.
fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "nothing".into(),
    }
}

fn text_problem(text: &str, at: Span, schema: &Value) -> Option<Problem> {
    if let Some(words) = schema["enum"].as_array() {
        let words = || words.iter().filter_map(Value::as_str);
        if words().any(|word| word == text) {
            return None;
        }
        let near = nearest(text, words()).map(|near| format!("did you mean `{near}`?"));
        let problem = Problem::new("unknown-name", at, format!("unknown name {}", quoted(text)));
        return Some(problem.found(text).expect(one_of(words())).hint_if(near));
    }
    let length = text.chars().count() as u64;
    let (least, most) = (schema["minLength"].as_u64(), schema["maxLength"].as_u64());
    if most.is_some_and(|most| length > most) {
        let message = format!("this has {length} characters");
        let expected = format!("at most {}", most.unwrap_or_default());
        return Some(Problem::new("too-long", at, message).found(text).expect(expected));
    }
    // What is too short is told better by those who know what it should be, unless it is
    // nothing at all.
    (least.is_some() && text.is_empty())
        .then(|| Problem::new("missing-value", at, "this is empty").expect("a text"))
}

fn wrong_type(node: &Node, value: Option<&Value>, at: Span, schema: &Value) -> Problem {
    let text = node.text().unwrap_or_default();
    let wanted = schema["type"].as_str().unwrap_or_default();
    let what = match (&node.kind, value) {
        (Kind::List(_), _) => "this is a list".into(),
        (Kind::Map(_), _) => "this is a mapping".into(),
        (_, Some(Value::Bool(_))) => format!("{} is true or false", quoted(text)),
        (_, Some(Value::Number(_))) => format!("{} is a number", quoted(text)),
        (_, Some(_)) => format!("{} is a text", quoted(text)),
        (_, None) => "this is nothing".into(),
    };
    let bare = scalar_value(&Scalar { text: text.into(), is_plain: true });
    let would_do = match wanted {
        "boolean" => bare.is_boolean(),
        "integer" => bare.is_i64(),
        _ => wanted == "number" && bare.is_number(),
    };
    let hint = match (schema["x-kubernetes-validations"][0]["message"].as_str(), wanted) {
        (Some(rule), _) => Some(rule.to_string()),
        (None, "string" | "") if !text.is_empty() => Some(format!("write `\"{text}\"`")),
        _ => would_do.then(|| format!("write `{text}`, without quotes")),
    };
    Problem::new("wrong-type", at, what).found(text).expect(type_words(wanted)).hint_if(hint)
}

fn type_words(wanted: &str) -> &'static str {
    match wanted {
        "object" => "a mapping",
        "array" => "a list",
        "boolean" => "`true` or `false`",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a text",
        _ => "a whole number or a text",
    }
}

/// A tree as JSON. What is null is as if it were not there.
#[must_use]
pub fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Scalar(scalar) => scalar_value(scalar),
        Kind::List(items) => items.iter().map(value).collect(),
        Kind::Map(pairs) => {
            let pairs = pairs.iter().filter(|pair| pair.value.kind != Kind::Null);
            pairs.map(|pair| (pair.key.text.clone(), value(&pair.value))).collect()
        }
    }
}

/// What a scalar is to `kubectl`, which reads YAML as it was before version 1.2.
fn scalar_value(scalar: &Scalar) -> Value {
    let Scalar { text, is_plain } = scalar;
    if *is_plain {
        match &**text {
            "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "y" | "Y" | "on" | "On" | "ON" => {
                return true.into();
            }
            "false" | "False" | "FALSE" | "no" | "No" | "NO" | "n" | "N" | "off" | "Off"
            | "OFF" => return false.into(),
            _ => {}
        }
        if let Some(number) = number(text) {
            return number.into();
        }
    }
    text.clone().into()
}

fn number(text: &str) -> Option<Number> {
    let digits = text.replace('_', "");
    let (sign, bare) = match digits.strip_prefix('-') {
        Some(bare) => ("-", bare),
        None => ("", digits.strip_prefix('+').unwrap_or(&digits)),
    };
    if !bare.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let (radix, rest) = match bare.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &bare[2..]),
        [b'0', b'o' | b'O', ..] => (8, &bare[2..]),
        [b'0', b'b' | b'B', ..] => (2, &bare[2..]),
        [b'0', _, ..] => (8, &bare[1..]),
        _ => (10, bare),
    };
    if let Ok(whole) = i64::from_str_radix(&format!("{sign}{rest}"), radix) {
        return Some(whole.into());
    }
    let is_float = bare.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b));
    let float: f64 = is_float.then(|| format!("{sign}{bare}").parse().ok()).flatten()?;
    // A fraction of nothing is a whole number to everyone.
    if float.fract() == 0.0 && float.abs() < 1e15 {
        return Some((float as i64).into());
    }
    Number::from_f64(float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// As `kubectl create --dry-run=client -o json` has it.
    #[test]
    fn scalars() {
        for (yaml, expected) in [
            ("0 10 * * *", json!("0 10 * * *")),
            ("yes", json!(true)),
            ("'yes'", json!("yes")),
            ("Off", json!(false)),
            ("90m", json!("90m")),
            ("5", json!(5)),
            ("-5", json!(-5)),
            ("+5", json!(5)),
            ("'5'", json!("5")),
            ("0777", json!(511)),
            ("0x1f", json!(31)),
            ("1_000", json!(1000)),
            ("3.0", json!(3)),
            ("1e3", json!(1000)),
            (".5", json!(0.5)),
            ("1.5.2", json!("1.5.2")),
            ("-", json!("-")),
            ("0s", json!("0s")),
            ("09", json!(9)),
            ("12:30", json!("12:30")),
            ("2026-12-25", json!("2026-12-25")),
            ("1e", json!("1e")),
            ("infinity", json!("infinity")),
        ] {
            let scalar = match yaml.strip_prefix('\'') {
                Some(text) => Scalar { text: text.trim_end_matches('\'').into(), is_plain: false },
                None => Scalar { text: yaml.into(), is_plain: true },
            };
            assert_eq!(scalar_value(&scalar), expected, "{yaml}");
        }
    }
}
