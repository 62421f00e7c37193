//! The language as JSON Schema, made from the types that read it: for editors, and for the reference.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::cases::CasesFile;
use crate::file::PolicyFile;

/// A document that policies are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    /// A policy.
    Policy,
    /// Cases to test a policy with.
    Cases,
}

impl Document {
    /// Every document.
    pub const ALL: [Self; 2] = [Self::Policy, Self::Cases];

    /// The name of its schema file.
    #[must_use]
    pub const fn schema_file(self) -> &'static str {
        match self {
            Self::Policy => "policy.schema.json",
            Self::Cases => "policy.test.schema.json",
        }
    }

    /// Its JSON Schema (draft 2020-12).
    #[must_use]
    pub fn schema(self) -> Value {
        let generator = SchemaSettings::draft2020_12().into_generator();
        let (schema, title) = match self {
            Self::Policy => (generator.into_root_schema_for::<PolicyFile>(), "Banksman policy"),
            Self::Cases => (generator.into_root_schema_for::<CasesFile>(), "Cases for a Banksman policy"),
        };
        let mut schema = Value::from(schema);
        if let Some(root) = schema.as_object_mut() {
            root.insert("title".into(), title.into());
        }
        schema
    }
}
