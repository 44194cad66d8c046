# kron-operator as one static program and nothing else:
#   docker build -t kron-operator:0.1.0 .
FROM rust:1.95-slim-bookworm AS build
# A C compiler for musl: the cryptography (ring) is partly in C. Its version does not matter.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends musl-tools \
 && rm -rf /var/lib/apt/lists/* \
 && rustup target add "$(uname -m)-unknown-linux-musl"
WORKDIR /kron
COPY . .
RUN target="$(uname -m)-unknown-linux-musl" \
 && cargo build --locked --release --target "$target" --package kron-operator \
 && install -s "target/$target/release/kron-operator" /kron-operator

# No shell, no libraries, no zone files: the time zones are in the program, and the
# cluster's certificate is in every pod.
FROM scratch
LABEL org.opencontainers.image.title="kron-operator" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
COPY --from=build /kron-operator /kron-operator
COPY LICENSE-MIT LICENSE-APACHE /
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/kron-operator"]
