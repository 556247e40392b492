//! The network of the simulated Pi: the case's HTTP servers and nobody else, each request handed over in process.

use std::collections::BTreeMap;

use axum::body::Body;
use fake_pi::mcp::http::{HttpPort, HttpRequest, HttpResponse};
use futures::StreamExt;
use futures::future::BoxFuture;
use tower::ServiceExt;

use crate::case::Case;
use crate::hosts::http::{HttpServers, PATH};

/// The network of one play.
pub struct Network(pub HttpServers);

/// The addresses of a case's servers on this network.
pub fn addresses(case: &Case) -> BTreeMap<String, String> {
    let address = |name: &String| (name.clone(), format!("http://{name}.sim{PATH}"));
    case.http.keys().map(address).collect()
}

impl HttpPort for Network {
    fn fetch(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, String>> {
        let host = request.uri().host().unwrap_or_default();
        let router = host
            .strip_suffix(".sim")
            .and_then(|name| self.0.router(name));
        Box::pin(async move {
            let router = router.ok_or("nobody is there")?;
            let Ok(response) = router.oneshot(request.map(Body::from)).await;
            Ok(response.map(|body| {
                let pieces = body.into_data_stream().map(|piece| match piece {
                    Ok(bytes) => Ok(bytes.to_vec()),
                    Err(error) => Err(error.to_string()),
                });
                pieces.boxed()
            }))
        })
    }
}
