//! The output of each example is that in the file beside it.

#[path = "../../examples/echo.rs"]
mod echo;
#[path = "../../examples/http.rs"]
mod http;
#[path = "../../examples/incast.rs"]
mod incast;
#[path = "../../examples/inference.rs"]
mod inference;

#[test]
fn echo_says_what_is_expected() {
    assert_eq!(echo::run().expect("it runs"), include_str!("../../examples/echo.out"));
}

#[test]
fn http_says_what_is_expected() {
    assert_eq!(http::run().expect("it runs"), include_str!("../../examples/http.out"));
}

#[test]
fn incast_says_what_is_expected() {
    assert_eq!(incast::run().expect("it runs"), include_str!("../../examples/incast.out"));
}

#[test]
fn inference_says_what_is_expected() {
    assert_eq!(inference::run().expect("it runs"), include_str!("../../examples/inference.out"));
}
