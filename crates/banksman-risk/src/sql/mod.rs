//! Reads sql.

use crate::inspection::Inspection;
use crate::origin::Origin;

/// States what a text would do.
pub(crate) fn inspect(_inspection: &mut Inspection<'_>, _text: &str, _origin: Origin) {}
