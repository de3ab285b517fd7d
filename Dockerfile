# Builds the managers, one image each:
#   docker build --target manager           -t localhost/cluster-api-provider-metal3:dev .
#   docker build --target hostclaim-manager -t localhost/hostclaim-manager:dev .
#   docker build --target kubevirt-manager  -t localhost/kubevirt-manager:dev .

ARG BUILD_IMAGE=docker.io/library/golang:1.26
ARG BASE_IMAGE=gcr.io/distroless/static:nonroot

FROM --platform=${BUILDPLATFORM} ${BUILD_IMAGE} AS build
WORKDIR /src

# Modules first: they change less often than the code.
COPY go.mod go.sum ./
COPY api/go.mod api/go.sum api/
ARG GOPROXY
RUN --mount=type=cache,target=/go/pkg/mod go mod download

COPY main.go ./
COPY api/ api/
COPY baremetal/ baremetal/
COPY cmd/ cmd/
COPY controllers/ controllers/

ARG TARGETOS=linux
ARG TARGETARCH
ARG VERSION=v0.0.0-dev
ARG LDFLAGS="-s -w -X k8s.io/component-base/version.gitVersion=${VERSION}"
ENV CGO_ENABLED=0 GOCACHE=/go/cache GOOS=${TARGETOS} GOARCH=${TARGETARCH}

FROM build AS build-manager
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/cache \
    go build -trimpath -ldflags "${LDFLAGS}" -o /out/manager .

FROM build AS build-hostclaim-manager
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/cache \
    go build -trimpath -ldflags "${LDFLAGS}" -o /out/hostclaim-manager ./cmd/hostclaim-manager

FROM build AS build-kubevirt-manager
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/cache \
    go build -trimpath -ldflags "${LDFLAGS}" -o /out/kubevirt-manager ./cmd/kubevirt-manager

FROM ${BASE_IMAGE} AS kubevirt-manager
WORKDIR /
COPY --from=build-kubevirt-manager /out/kubevirt-manager /kubevirt-manager
USER 65532:65532
ENTRYPOINT ["/kubevirt-manager"]

FROM ${BASE_IMAGE} AS hostclaim-manager
WORKDIR /
COPY --from=build-hostclaim-manager /out/hostclaim-manager /hostclaim-manager
USER 65532:65532
ENTRYPOINT ["/hostclaim-manager"]

FROM ${BASE_IMAGE} AS manager
WORKDIR /
COPY --from=build-manager /out/manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
