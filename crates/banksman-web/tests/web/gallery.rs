//! The hostile gallery: nothing runs, nothing leaves its place, nothing hides.

use banksman_core::visible::is_hidden;
use serde::Deserialize;

use crate::markup::Page;
use crate::pages;

/// The same texts as the browser tests show to a real browser.
#[derive(Deserialize)]
struct Payload {
    name: String,
    text: String,
    /// Whether a page with it has the shape of a page with a harmless text; some fold, or are warned about.
    same: bool,
}

fn gallery() -> Vec<Payload> {
    let payloads: Vec<Payload> = serde_json::from_str(include_str!("../../browser/payloads.json")).unwrap();
    assert!(payloads.len() >= 60);
    payloads
}

/// What our own pages are made of. Whatever else is in a page, someone else put it there.
const ELEMENTS: &[&str] = &[
    "!DOCTYPE",
    "html",
    "head",
    "meta",
    "title",
    "link",
    "script",
    "body",
    "a",
    "header",
    "nav",
    "ul",
    "ol",
    "li",
    "span",
    "form",
    "input",
    "button",
    "p",
    "strong",
    "b",
    "main",
    "footer",
    "div",
    "dialog",
    "h1",
    "h2",
    "h3",
    "dl",
    "dt",
    "dd",
    "kbd",
    "label",
    "article",
    "section",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "code",
    "pre",
    "details",
    "summary",
    "textarea",
    "select",
    "datalist",
    "option",
    "fieldset",
    "legend",
    "time",
    "bdi",
    "mark",
    "sup",
    "blockquote",
    "small",
    "figure",
    "figcaption",
    "svg",
    "desc",
    "rect",
    "path",
    "noscript",
];

#[test]
fn no_page_has_markup_that_is_not_ours() {
    for payload in gallery() {
        for (name, html) in pages::all(&payload.text) {
            let page = Page::read(&html);
            let place = format!("{} on {name}", payload.name);
            let scripts = page.tags.iter().filter(|tag| tag.name == "script");
            assert!(scripts.clone().all(|tag| tag.attribute("src") == Some("/assets/console.js")), "{place}");
            assert!(scripts.count() <= 1, "{place}");
            for tag in &page.tags {
                assert!(ELEMENTS.contains(&tag.name.trim_start_matches('/')), "{}: {place}", tag.name);
                for (attribute, value) in &tag.attributes {
                    assert!(!attribute.starts_with("on") && attribute != "style", "{attribute}: {place}");
                    let is_drawn =
                        tag.name == "svg" && ["viewBox", "preserveAspectRatio"].contains(&attribute.as_str());
                    let is_ours = is_drawn || attribute.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                    assert!(is_ours, "{attribute:?}: {place}");
                    if ["href", "src", "action", "formaction"].contains(&attribute.as_str()) {
                        let inside =
                            value.starts_with("#") || (value.starts_with('/') && !value.starts_with("//"));
                        assert!(inside, "{attribute}={value:?}: {place}");
                    }
                }
            }
        }
    }
}

#[test]
fn nothing_on_a_page_hides() {
    for payload in gallery() {
        for (name, html) in pages::all(&payload.text) {
            let page = Page::read(&html);
            // What stands in a text area is what is sent back, and there the browser shows it as JSON or not at all.
            for text in &page.texts {
                let hidden = text.chars().find(|c| !matches!(c, '\n' | '\t') && is_hidden(*c));
                assert_eq!(hidden, None, "{} on {name}: {text:?}", payload.name);
            }
        }
    }
}

#[test]
fn trusted_controls_stay_where_they_were() {
    let harmless: Vec<Vec<String>> =
        pages::all("words").iter().map(|(_, html)| Page::read(html).shape()).collect();
    let mut compared = 0;
    for payload in gallery().iter().filter(|payload| payload.same) {
        for ((name, html), shape) in pages::all(&payload.text).iter().zip(&harmless) {
            let hostile = Page::read(html).shape();
            let differs = hostile.iter().zip(shape).position(|(one, other)| one != other);
            assert_eq!((differs, hostile.len()), (None, shape.len()), "{} on {name}", payload.name);
            compared += 1;
        }
    }
    assert!(compared > 800, "{compared}");
}

#[test]
fn buttons_and_forms_are_ours_whatever_folds_or_is_warned_about() {
    let controls = |html: &str| -> Vec<String> {
        Page::read(html)
            .tags
            .iter()
            .filter(|tag| ["form", "button", "input"].contains(&tag.name.as_str()))
            .map(|tag| {
                format!(
                    "{} {:?} {:?}",
                    tag.name,
                    tag.attribute("action"),
                    tag.attribute("value").filter(|_| tag.name == "button")
                )
            })
            .collect()
    };
    let harmless = pages::all("words");
    for payload in gallery().iter().filter(|payload| !payload.same) {
        for ((name, html), (_, plain)) in pages::all(&payload.text).iter().zip(&harmless) {
            let mut ours = controls(plain).into_iter();
            if *name == "batch" {
                // What the page does not wholly show, or warns about, cannot be approved there: a choice less, none more.
                let all_are_ours = controls(html).into_iter().all(|control| ours.any(|own| own == control));
                assert!(all_are_ours, "{} on {name}", payload.name);
            } else {
                assert!(ours.eq(controls(html)), "{} on {name}", payload.name);
            }
        }
    }
}

#[test]
fn what_the_agent_says_holds_no_control_of_ours() {
    for payload in gallery() {
        for (name, html) in pages::all(&payload.text) {
            for panel in html.split("<section class=\"untrusted\"").skip(1) {
                let panel = panel.split("</section>").next().unwrap();
                for control in ["<button", "<a ", "<form", "<input", "<textarea", "<select"] {
                    assert!(
                        !panel.contains(control),
                        "{control} in the untrusted panel: {} on {name}",
                        payload.name
                    );
                }
            }
        }
    }
}

#[test]
fn long_texts_show_their_end_and_lookalikes_are_named() {
    for payload in gallery() {
        let pages = pages::all(&payload.text);
        let (_, action) = pages.iter().find(|(name, _)| *name == "action").unwrap();
        if payload.text.ends_with("END") {
            assert!(action.matches("END</bdi>").count() > 3, "{}", payload.name);
        }
        if payload.name.contains("host") {
            assert!(action.contains("Look closely"), "{}", payload.name);
        }
    }
}
