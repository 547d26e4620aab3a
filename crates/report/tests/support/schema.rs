//! Whether a value is what a JSON Schema says: the part of JSON Schema that `docs/report.schema.json` uses. A keyword
//! that is not known here is an error of the schema, so that none is ignored by mistake.

use serde_json::{Map, Value};

/// What a value has that the schema of reports does not allow; nothing if it fits.
pub(crate) fn differences(report: &Value) -> Vec<String> {
    let text = include_str!("../../../../docs/report.schema.json");
    let root: Value = serde_json::from_str(text).expect("the schema is JSON");
    let mut schema = Schema {
        root: &root,
        differences: Vec::new(),
    };
    schema.compare(&root, report, "");
    schema.differences
}

struct Schema<'s> {
    root: &'s Value,
    differences: Vec<String>,
}

impl Schema<'_> {
    fn compare(&mut self, schema: &Value, value: &Value, at: &str) {
        let schema = schema.as_object().expect("a schema is an object");
        for (keyword, says) in schema {
            let fits = match keyword.as_str() {
                "$schema" | "title" | "description" | "$defs" | "then" => true,
                "$ref" => {
                    let pointer = says.as_str().expect("a reference is a string");
                    let target = self.root.pointer(pointer.trim_start_matches('#'));
                    let target = target.unwrap_or_else(|| panic!("{pointer} is missing"));
                    self.compare(&target.clone(), value, at);
                    true
                }
                "type" => has_type(says, value),
                "const" => says == value,
                "enum" => list(says).contains(value),
                "minimum" => value
                    .as_f64()
                    .is_none_or(|number| Some(number) >= says.as_f64()),
                "minItems" => value.as_array().is_none_or(|all| all.len() >= count(says)),
                "maxItems" => value.as_array().is_none_or(|all| all.len() <= count(says)),
                "required" => {
                    let fields = value.as_object();
                    let has = |name: &Value| {
                        let name = name.as_str().expect("a field has a name");
                        fields.is_none_or(|fields| fields.contains_key(name))
                    };
                    list(says).iter().all(has)
                }
                "properties" => {
                    self.compare_fields(says, value, at);
                    true
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.compare(says, item, &format!("{at}/{index}"));
                    }
                    true
                }
                "anyOf" => list(says).iter().any(|one| self.fits(one, value)),
                "allOf" => {
                    for one in list(says) {
                        self.compare(one, value, at);
                    }
                    true
                }
                "if" => {
                    if self.fits(says, value) {
                        self.compare(&schema["then"], value, at);
                    }
                    true
                }
                other => panic!("the keyword `{other}` is not known"),
            };
            if !fits {
                let difference = format!("{at}: {keyword} is {says}, found {value}");
                self.differences.push(difference);
            }
        }
    }

    fn compare_fields(&mut self, says: &Value, value: &Value, at: &str) {
        let empty = Map::new();
        let fields = value.as_object().unwrap_or(&empty);
        for (name, schema) in says.as_object().expect("fields are an object") {
            if let Some(field) = fields.get(name) {
                self.compare(schema, field, &format!("{at}/{name}"));
            }
        }
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let mut inner = Schema {
            root: self.root,
            differences: Vec::new(),
        };
        inner.compare(schema, value, "");
        inner.differences.is_empty()
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn count(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a count")).expect("a small one")
}

fn has_type(says: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().expect("a type has a name") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the type `{other}` is not known"),
    };
    match says {
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    }
}
