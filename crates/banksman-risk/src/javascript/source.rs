//! Modules that are named by where their code is: `data:text/javascript,…`, `https://…`.

use banksman_core::Span;

use crate::code::decode;
use crate::code::machine::Machine;
use crate::code::text;
use crate::code::value::{Taint, Value};
use crate::fact::Direction;

/// Whether a module's name says where its code is, or is the code.
pub(super) fn is_source(name: &str) -> bool {
    is_data(name) || text::is_address(name)
}

fn is_data(name: &str) -> bool {
    name.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// Runs the code of such a module.
pub(super) fn run(machine: &mut Machine<'_, '_>, name: &str, span: Span) -> Value {
    if !is_data(name) {
        machine.talk(Direction::Fetch, Some("GET"), &Value::text(name), span);
        machine.inspection.signal("download_run", span);
        return Value::unknown(Taint::NETWORK);
    }
    let (head, body) = name.split_once(',').unwrap_or((name, ""));
    let is_encoded =
        head.get(head.len().saturating_sub(7)..).is_some_and(|end| end.eq_ignore_ascii_case(";base64"));
    let body = decode::percent(body).unwrap_or_else(|| body.to_owned());
    let code = if is_encoded { decode::base64(&body) } else { Some(body) };
    machine.run_code(&code.map_or(Value::UNKNOWN, Value::text), span)
}
