//! Style, scripts and the icon: hand-written, served by us, and nothing from anyone else.

/// A file that pages load.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Its name in addresses.
    pub name: &'static str,
    /// What it is.
    pub media_type: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! assets {
    ($($name:literal: $media:literal),+ $(,)?) => {
        /// Every file.
        pub(crate) const ASSETS: &[Asset] = &[
            $(Asset { name: $name, media_type: $media, text: include_str!(concat!("../assets/", $name)) }),+
        ];
    };
}

assets! {
    "base.css": "text/css; charset=utf-8",
    "review.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "countdown.js": "text/javascript; charset=utf-8",
    "keys.js": "text/javascript; charset=utf-8",
    "line.js": "text/javascript; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "notify.js": "text/javascript; charset=utf-8",
    "passkey.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}

/// A file by its name.
#[must_use]
pub fn asset(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

/// Where a page finds a file.
pub(crate) fn address(name: &str) -> String {
    format!("/assets/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_never_make_markup_or_code_of_text() {
        for asset in ASSETS.iter().filter(|asset| asset.media_type.starts_with("text/javascript")) {
            for sink in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "setAttribute(\"on",
                "DOMParser",
                "createContextualFragment",
            ] {
                assert!(!asset.text.contains(sink), "{} uses {sink}", asset.name);
            }
        }
    }

    #[test]
    fn nothing_comes_from_elsewhere() {
        for asset in ASSETS {
            let foreign =
                asset.text.matches("://").count() - asset.text.matches("http://www.w3.org/2000/svg").count();
            assert_eq!(foreign, 0, "{} names another origin", asset.name);
        }
    }

    #[test]
    fn all_of_it_is_small() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.text.len()).sum();
        assert!(bytes < 60_000, "{bytes} bytes of assets");
    }
}
