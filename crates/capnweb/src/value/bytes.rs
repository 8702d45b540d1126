//! Byte strings and the typed buffers of JavaScript.

/// Which JavaScript buffer the bytes came from. Elements are little-endian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    ArrayBuffer,
    DataView,
    Int8Array,
    /// What bytes are unless somebody says otherwise; sent without a name.
    #[default]
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    BigInt64Array,
    BigUint64Array,
    Float64Array,
}

impl Kind {
    /// Every kind, in the order of the type.
    pub const ALL: [Kind; 13] = [
        Kind::ArrayBuffer,
        Kind::DataView,
        Kind::Int8Array,
        Kind::Uint8Array,
        Kind::Uint8ClampedArray,
        Kind::Int16Array,
        Kind::Uint16Array,
        Kind::Int32Array,
        Kind::Uint32Array,
        Kind::Float32Array,
        Kind::BigInt64Array,
        Kind::BigUint64Array,
        Kind::Float64Array,
    ];

    /// The name of the JavaScript class.
    pub fn name(self) -> &'static str {
        match self {
            Kind::ArrayBuffer => "ArrayBuffer",
            Kind::DataView => "DataView",
            Kind::Int8Array => "Int8Array",
            Kind::Uint8Array => "Uint8Array",
            Kind::Uint8ClampedArray => "Uint8ClampedArray",
            Kind::Int16Array => "Int16Array",
            Kind::Uint16Array => "Uint16Array",
            Kind::Int32Array => "Int32Array",
            Kind::Uint32Array => "Uint32Array",
            Kind::Float32Array => "Float32Array",
            Kind::BigInt64Array => "BigInt64Array",
            Kind::BigUint64Array => "BigUint64Array",
            Kind::Float64Array => "Float64Array",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Bytes per element.
    pub fn element_size(self) -> usize {
        match self {
            Kind::ArrayBuffer
            | Kind::DataView
            | Kind::Int8Array
            | Kind::Uint8Array
            | Kind::Uint8ClampedArray => 1,
            Kind::Int16Array | Kind::Uint16Array => 2,
            Kind::Int32Array | Kind::Uint32Array | Kind::Float32Array => 4,
            Kind::BigInt64Array | Kind::BigUint64Array | Kind::Float64Array => 8,
        }
    }
}

/// Bytes and what they are called in JavaScript. Their number is a multiple of the element size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    kind: Kind,
    data: Vec<u8>,
}

impl Bytes {
    pub fn new(data: Vec<u8>) -> Bytes {
        Bytes { kind: Kind::Uint8Array, data }
    }

    /// `None` when the bytes are not whole elements.
    pub fn typed(kind: Kind, data: Vec<u8>) -> Option<Bytes> {
        data.len().is_multiple_of(kind.element_size()).then_some(Bytes { kind, data })
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.data
    }

    pub fn into_vec(self) -> Vec<u8> {
        self.data
    }
}
