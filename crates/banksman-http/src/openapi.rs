//! The OpenAPI document, made from the list of routes.

use std::collections::BTreeMap;

use axum::http::Method;
use banksman_core::wire::Problem;
use banksman_core::{ActionId, BatchId, DelegationId, FreezeId, GrantId, PersonId, TokenId};
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{Object, ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::server::ServerBuilder;
use utoipa::openapi::{
    ComponentsBuilder, Content, InfoBuilder, LicenseBuilder, OpenApiBuilder, PathsBuilder, Ref, RefOr,
    Required, Response, ResponseBuilder,
};
use utoipa::{PartialSchema, ToSchema};

use crate::Access;
use crate::console::COOKIE_NAME;
use crate::problem::Code;
use crate::query::MAX_LIMIT;
use crate::router::{Route, routes};

type Named = (String, RefOr<Schema>);

/// What is said about a route.
pub(crate) struct Operation {
    id: &'static str,
    summary: &'static str,
    parameters: Vec<Parameter>,
    request: Option<RequestBody>,
    answers: Vec<Answer>,
    failures: Vec<Code>,
    schemas: Vec<Named>,
}

struct RequestBody {
    media: &'static str,
    schema: RefOr<Schema>,
    required: Required,
}

struct Answer {
    status: u16,
    description: &'static str,
    content: Option<(&'static str, Option<RefOr<Schema>>)>,
    headers: Vec<(&'static str, &'static str)>,
}

impl Answer {
    fn new(
        status: u16,
        description: &'static str,
        content: Option<(&'static str, Option<RefOr<Schema>>)>,
    ) -> Self {
        Self { status, description, content, headers: Vec::new() }
    }
}

/// A header or query parameter.
pub(crate) struct Parameter {
    name: &'static str,
    place: ParameterIn,
    description: &'static str,
    schema: RefOr<Schema>,
}

impl Parameter {
    pub(crate) fn header(name: &'static str, description: &'static str) -> Self {
        Self { name, place: ParameterIn::Header, description, schema: Object::with_type(Type::String).into() }
    }

    pub(crate) fn query(name: &'static str, description: &'static str) -> Self {
        Self { place: ParameterIn::Query, ..Self::header(name, description) }
    }

    /// A whole number from `least` on.
    pub(crate) fn number(mut self, least: u32) -> Self {
        self.schema = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(least)).into();
        self
    }

    /// How many to list.
    pub(crate) fn limit() -> Self {
        let schema = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(u32::try_from(MAX_LIMIT).unwrap_or(u32::MAX)));
        Self { schema: schema.into(), ..Self::query("limit", "how many") }
    }

    /// One of a few words.
    pub(crate) fn one_of<T: PartialSchema>(mut self) -> Self {
        self.schema = T::schema();
        self
    }
}

impl Operation {
    pub(crate) fn new(id: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            summary,
            parameters: Vec::new(),
            request: None,
            answers: Vec::new(),
            failures: Vec::new(),
            schemas: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    pub(crate) fn takes<T: ToSchema>(mut self) -> Self {
        let schema = self.reference::<T>();
        self.request = Some(RequestBody { media: "application/json", schema, required: Required::True });
        self
    }

    /// A body that may be left out.
    pub(crate) fn may_take<T: ToSchema>(mut self) -> Self {
        let schema = self.reference::<T>();
        self.request = Some(RequestBody { media: "application/json", schema, required: Required::False });
        self
    }

    pub(crate) fn takes_form<T: ToSchema>(mut self) -> Self {
        let schema = self.reference::<T>();
        let media = "application/x-www-form-urlencoded";
        self.request = Some(RequestBody { media, schema, required: Required::True });
        self
    }

    pub(crate) fn answers<T: ToSchema>(mut self, status: u16, description: &'static str) -> Self {
        let schema = self.reference::<T>();
        self.answers.push(Answer::new(status, description, Some(("application/json", Some(schema)))));
        self
    }

    /// Describes the items of a generic list too, which a list does not do by itself.
    pub(crate) fn of<T: ToSchema>(mut self) -> Self {
        let _ = self.reference::<T>();
        self
    }

    pub(crate) fn answers_with(
        mut self,
        status: u16,
        description: &'static str,
        media: &'static str,
    ) -> Self {
        self.answers.push(Answer::new(status, description, Some((media, None))));
        self
    }

    pub(crate) fn answers_nothing(mut self, status: u16, description: &'static str) -> Self {
        self.answers.push(Answer::new(status, description, None));
        self
    }

    /// With a header in the answer that was described last.
    pub(crate) fn with_header(mut self, name: &'static str, description: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers.push((name, description));
        }
        self
    }

    pub(crate) fn fails(mut self, codes: &[Code]) -> Self {
        self.failures.extend_from_slice(codes);
        self
    }

    /// A reference to the schema of a type, which is added to the components.
    fn reference<T: ToSchema>(&mut self) -> RefOr<Schema> {
        let name = component_name::<T>();
        self.schemas.push((name.clone(), T::schema()));
        T::schemas(&mut self.schemas);
        Ref::from_schema_name(name).into()
    }
}

/// `Page<ActionView>` becomes `Page_ActionView`.
fn component_name<T: ToSchema>() -> String {
    let full = std::any::type_name::<T>();
    let plain = |text: &str| text.rsplit("::").next().unwrap_or_default().trim_end_matches('>').to_owned();
    match full.split_once('<') {
        Some((outer, inner)) => format!("{}_{}", plain(outer), plain(inner)),
        None => T::name().into_owned(),
    }
}

/// The document as JSON.
#[must_use]
pub fn document() -> String {
    let mut paths = PathsBuilder::new();
    let mut components = ComponentsBuilder::new()
        .security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)))
        .security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new(COOKIE_NAME))));
    let mut schemas: Vec<Named> = vec![(Problem::name().into_owned(), Problem::schema())];
    Problem::schemas(&mut schemas);
    let mut items: BTreeMap<&str, utoipa::openapi::PathItem> = BTreeMap::new();
    for route in routes() {
        let Route { method, path, access, operation, .. } = route;
        schemas.extend(operation.schemas.iter().cloned());
        let method = match method {
            Method::POST => HttpMethod::Post,
            Method::DELETE => HttpMethod::Delete,
            _ => HttpMethod::Get,
        };
        let item = utoipa::openapi::PathItem::new(method, describe(path, access, &operation));
        match items.get_mut(path) {
            Some(known) => known.merge_operations(item),
            None => {
                items.insert(path, item);
            }
        }
    }
    for (path, item) in items {
        paths = paths.path(path, item);
    }
    schemas.sort_by(|(a, _), (b, _)| a.cmp(b));
    schemas.dedup_by(|(a, _), (b, _)| a == b);
    for (name, schema) in schemas {
        components = components.schema(name, schema);
    }
    let info = InfoBuilder::new()
        .title("Banksman")
        .version("1")
        .description(Some(
            "Every action of an AI agent is assessed, judged by policy, and runs, is held until an authorised person \
             signals, or never runs.",
        ))
        .license(Some(LicenseBuilder::new().name("Apache-2.0 OR MIT").identifier(Some("Apache-2.0 OR MIT")).build()))
        .build();
    let document = OpenApiBuilder::new()
        .info(info)
        .servers(Some([ServerBuilder::new().url("/").description(Some("This server")).build()]))
        .paths(paths)
        .components(Some(components.build()))
        .build();
    document.to_pretty_json().unwrap_or_default()
}

fn describe(path: &str, access: Access, operation: &Operation) -> utoipa::openapi::path::Operation {
    let mut described = OperationBuilder::new()
        .operation_id(Some(operation.id))
        .summary(Some(operation.summary))
        .description(Some(format!("For: {}.", access.as_str())))
        .tag(path.strip_prefix("/v1/").and_then(|rest| rest.split('/').next()).unwrap_or("server"));
    if path.contains("{id}") {
        described = described.parameter(
            ParameterBuilder::new()
                .name("id")
                .parameter_in(ParameterIn::Path)
                .required(Required::True)
                .schema(Some(id_schema(path))),
        );
    }
    for name in
        ["upstream", "channel", "name"].into_iter().filter(|name| path.contains(&format!("{{{name}}}")))
    {
        described = described.parameter(
            ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Path)
                .required(Required::True)
                .schema(Some(Object::with_type(Type::String))),
        );
    }
    for parameter in &operation.parameters {
        described = described.parameter(
            ParameterBuilder::new()
                .name(parameter.name)
                .parameter_in(parameter.place.clone())
                .required(Required::False)
                .description(Some(parameter.description))
                .schema(Some(parameter.schema.clone())),
        );
    }
    if let Some(RequestBody { media, schema, required }) = &operation.request {
        described = described.request_body(Some(
            RequestBodyBuilder::new()
                .content(*media, Content::new(Some(schema.clone())))
                .required(Some(required.clone()))
                .build(),
        ));
    }
    for (status, response) in responses(access, operation) {
        described = described.response(status.to_string(), response);
    }
    match access {
        Access::Public => described.securities(Some([])),
        Access::Session => described.security(SecurityRequirement::new("session", Vec::<String>::new())),
        Access::Agent | Access::Person | Access::Admin | Access::Anyone => {
            described.security(SecurityRequirement::new("token", Vec::<String>::new()))
        }
    }
    .build()
}

/// The one spelling of the ids that a path names.
fn id_schema(path: &str) -> ObjectBuilder {
    let named = |part: &str| path.split('/').any(|other| other == part);
    let prefix = match () {
        () if named("batches") => BatchId::PREFIX,
        () if named("grants") => GrantId::PREFIX,
        () if named("freezes") => FreezeId::PREFIX,
        () if named("delegations") => DelegationId::PREFIX,
        () if named("people") => PersonId::PREFIX,
        () if named("sessions") => TokenId::PREFIX,
        () => ActionId::PREFIX,
    };
    let pattern = format!("^{prefix}[0-7][0-9A-HJKMNP-TV-Z]{{25}}$");
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))
}

/// What a route answers, by status: a page and a problem may share one.
fn responses(access: Access, operation: &Operation) -> BTreeMap<u16, Response> {
    let mut words = BTreeMap::<u16, Vec<String>>::new();
    let mut contents = BTreeMap::<u16, Vec<(&str, Content)>>::new();
    let mut headers = BTreeMap::<u16, BTreeMap<&str, &str>>::new();
    for answer in &operation.answers {
        headers.entry(answer.status).or_default().extend(answer.headers.iter().copied());
        words.entry(answer.status).or_default().push(answer.description.to_owned());
        if let Some((media, schema)) = &answer.content {
            contents.entry(answer.status).or_default().push((media, Content::new(schema.clone())));
        }
    }
    for (status, codes) in failures(access, operation) {
        if codes.iter().any(|code| code.retry_after().is_some()) {
            headers.entry(status).or_default().insert("Retry-After", "in how many seconds to try again");
        }
        let problem: RefOr<Schema> = Ref::from_schema_name(Problem::name()).into();
        words.entry(status).or_default().extend(codes.iter().map(|code| format!("`{}`", code.as_str())));
        contents.entry(status).or_default().push(("application/problem+json", Content::new(Some(problem))));
    }
    let respond = |(status, words): (u16, Vec<String>)| {
        let mut response = ResponseBuilder::new().description(words.join(", "));
        for (media, content) in contents.remove(&status).unwrap_or_default() {
            response = response.content(media, content);
        }
        for (name, description) in headers.remove(&status).unwrap_or_default() {
            let header = HeaderBuilder::new().schema(Some(Object::with_type(Type::String)));
            response = response.header(name, header.description(Some(description)).build());
        }
        (status, response.build())
    };
    words.into_iter().map(respond).collect()
}

/// The failures of a route, by status, with those that every route of its kind shares.
fn failures(access: Access, operation: &Operation) -> BTreeMap<u16, Vec<Code>> {
    let mut all = operation.failures.clone();
    match access {
        Access::Public => {}
        Access::Anyone | Access::Session => all.extend([Code::Unauthenticated, Code::Unavailable]),
        Access::Agent | Access::Person | Access::Admin => {
            all.extend([Code::Unauthenticated, Code::WrongKind, Code::Unavailable]);
        }
    }
    if let Some(RequestBody { media, .. }) = operation.request {
        all.extend([Code::BodyTooSlow, Code::BodyTooLarge, Code::InvalidRequest]);
        if media == "application/json" {
            all.push(Code::InvalidJson);
        }
    }
    if !operation.parameters.is_empty() {
        all.push(Code::InvalidRequest);
    }
    all.extend([Code::OriginNotAllowed, Code::HostNotAllowed]);
    let mut by_status = BTreeMap::<u16, Vec<Code>>::new();
    for code in all {
        let codes = by_status.entry(code.status().as_u16()).or_default();
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    by_status
}
