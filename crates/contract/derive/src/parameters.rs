//! The parameters that are the fields of a struct.

use crate::input::path_to;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Fields, Result, Token};

/// The kinds, which are constructors of `Parameter`.
const KINDS: [&str; 10] =
    ["integer", "float", "fraction", "duration", "size", "rate", "boolean", "choice", "text", "path"];
/// The word for fields that are no parameters.
const SKIP: &str = "skip";
/// The word for fields that are structs of parameters themselves.
const GROUP: &str = "group";
/// The words that take a value.
const WITH_VALUE: [&str; 8] = ["default", "range", "of", "meaning", "key", "unit", "read", "needs"];
/// The word for values above 0.
const POSITIVE: &str = "positive";
/// The word for values that may change during a run.
const CHANGEABLE: &str = "changeable";

pub(crate) fn generate(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(syn::DataStruct { fields: Fields::Named(fields), .. }) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "parameters are the named fields of a struct"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "a struct of parameters is not generic"));
    }
    let (name, config) = (&input.ident, path_to("config"));
    let fields = fields.named.iter().map(Declared::parse).collect::<Result<Vec<_>>>()?;
    let declarations = declarations(&fields, &config);
    let values = fields.iter().map(|field| field.value(&config));
    Ok(quote! {
        #[automatically_derived]
        impl #config::FromValues for #name {
            const PARAMETERS: &'static [#config::Parameter] = #declarations;

            fn from_values(values: &#config::Values) -> ::core::result::Result<#name, #config::ConfigError> {
                Ok(#name { #(#values),* })
            }
        }

        #[automatically_derived]
        impl ::core::default::Default for #name {
            fn default() -> #name {
                #config::FromValues::of_defaults()
            }
        }
    })
}

/// Returns the list of all parameters: those of a group stand in the place of its field.
fn declarations(fields: &[Declared<'_>], config: &TokenStream) -> TokenStream {
    if !fields.iter().any(Declared::is_group) {
        let own = fields.iter().filter(|field| !field.is_skipped()).map(|field| field.declaration(config));
        return quote!(&[#(#own),*]);
    }
    let lists = fields.iter().filter(|field| !field.is_skipped()).map(|field| {
        let ty = &field.field.ty;
        if field.is_group() {
            return quote_spanned!(ty.span() => <#ty as #config::FromValues>::PARAMETERS);
        }
        let declaration = field.declaration(config);
        quote!(&[#declaration])
    });
    quote!({
        const LISTS: &[&[#config::Parameter]] = &[#(#lists),*];
        &#config::fields::joined::<{ #config::fields::length(LISTS) }>(LISTS)
    })
}

/// A field with the words of its attribute.
struct Declared<'a> {
    field: &'a Field,
    name: &'a Ident,
    /// The kind, `skip` or `group`.
    kind: Ident,
    is_positive: bool,
    is_changeable: bool,
    /// The words that have a value, each with the value.
    given: Vec<(Ident, TokenStream)>,
}

impl<'a> Declared<'a> {
    fn parse(field: &'a Field) -> Result<Declared<'a>> {
        let name = field.ident.as_ref().expect("the struct has named fields");
        let (mut kind, mut is_positive, mut is_changeable, mut given) = (None, false, false, Vec::new());
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("parameter")) {
            attribute.parse_nested_meta(|meta| {
                let word = meta.path.require_ident()?.clone();
                let is_kind = word == SKIP || word == GROUP || KINDS.iter().any(|kind| word == kind);
                if is_kind && kind.is_none() {
                    kind = Some(word);
                } else if WITH_VALUE.iter().any(|known| word == known) && !given.iter().any(|(other, _)| *other == word)
                {
                    given.push((word, value(&meta)?));
                } else if word == POSITIVE {
                    is_positive = true;
                } else if word == CHANGEABLE {
                    is_changeable = true;
                } else {
                    return Err(meta.error(unexpected(&word, is_kind)));
                }
                Ok(())
            })?;
        }
        let kind = kind.ok_or_else(|| {
            let kinds = KINDS.join("`, `");
            let what = format!(
                "say `#[parameter(KIND, …)]`, or `group` for a struct of parameters, or `skip` if users cannot set it; \
                 KIND is `{kinds}`"
            );
            Error::new_spanned(field, what)
        })?;
        let declared = Declared { field, name, kind, is_positive, is_changeable, given };
        declared.check()?;
        Ok(declared)
    }

    /// Checks that all words are there that the kind needs, and no others.
    fn check(&self) -> Result<()> {
        let kind = self.kind.to_string();
        let needed: &[&str] = match kind.as_str() {
            SKIP => &["default"],
            GROUP => &[],
            "integer" | "float" => &["default", "range", "meaning"],
            "path" => &["meaning"],
            _ => &["default", "meaning"],
        };
        let optional: &[&str] = match kind.as_str() {
            SKIP | GROUP => &[],
            "choice" => &["key", "read", "of", "needs"],
            _ => &["key", "read", "unit", "needs"],
        };
        if let Some(word) = needed.iter().find(|word| self.get(word).is_none()) {
            return Err(Error::new_spanned(&self.kind, format!("`{kind}` needs `{word} = …`")));
        }
        for (is_said, word) in [(self.is_positive, POSITIVE), (self.is_changeable, CHANGEABLE)] {
            if is_said && (self.is_skipped() || self.is_group()) {
                return Err(Error::new_spanned(&self.kind, format!("`{kind}` takes no `{word}`")));
            }
        }
        match self.given.iter().find(|(word, _)| !needed.iter().chain(optional).any(|known| word == known)) {
            Some((word, _)) => Err(Error::new_spanned(word, format!("`{kind}` takes no `{word}`"))),
            None => Ok(()),
        }
    }

    fn is_skipped(&self) -> bool {
        self.kind == SKIP
    }

    fn is_group(&self) -> bool {
        self.kind == GROUP
    }

    fn get(&self, word: &str) -> Option<&TokenStream> {
        self.given.iter().find(|(other, _)| other == word).map(|(_, value)| value)
    }

    /// Returns the key.
    fn key(&self) -> TokenStream {
        let of_field = || {
            let name = self.name.unraw().to_string();
            quote!(#name)
        };
        self.get("key").cloned().unwrap_or_else(of_field)
    }

    /// Returns the call of the constructor of `Parameter`.
    fn declaration(&self, config: &TokenStream) -> TokenStream {
        let (kind, key, ty) = (&self.kind, self.key(), &self.field.ty);
        let of_type =
            || quote_spanned!(ty.span() => &#config::words::<#ty, { <#ty as #config::Words>::WORDS.len() }>());
        let words = (kind == "choice").then(|| self.get("of").cloned().unwrap_or_else(of_type));
        let arguments =
            [self.get("default"), self.get("range"), words.as_ref(), self.get("meaning")].into_iter().flatten();
        let positive = self.is_positive.then(|| quote!(.positive()));
        let changeable = self.is_changeable.then(|| quote!(.changeable()));
        let unit = self.get("unit").map(|unit| quote!(.with_default_unit(#unit)));
        let needs = self.get("needs").map(|needs| quote!(.needs(#needs)));
        quote!(#config::Parameter::#kind(#key, #(#arguments),*) #positive #changeable #unit #needs)
    }

    /// Returns the initialiser of the field.
    fn value(&self, config: &TokenStream) -> TokenStream {
        let (name, key, ty) = (self.name, self.key(), &self.field.ty);
        if self.is_skipped() {
            let default = self.get("default");
            return quote!(#name: #default);
        }
        if self.is_group() {
            return quote_spanned!(ty.span() => #name: <#ty as #config::FromValues>::from_values(values)?);
        }
        let by_type = || quote_spanned!(ty.span() => <#ty as #config::FromValue>::from_value);
        let read = self.get("read").cloned().unwrap_or_else(by_type);
        quote!(#name: #read(values, #key)?)
    }
}

/// Reads the value of a word: everything up to the next comma.
fn value(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    let input = meta.value()?;
    let mut value = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        value.extend([input.parse::<TokenTree>()?]);
    }
    if value.is_empty() { Err(meta.error("a value is missing after `=`")) } else { Ok(value) }
}

/// Returns the message on a word that is unknown, or stands twice.
fn unexpected(word: &Ident, is_kind: bool) -> String {
    if is_kind {
        return format!("the kind is given already, and this is another one: `{word}`");
    }
    if WITH_VALUE.iter().any(|known| word == known) {
        return format!("`{word}` stands twice");
    }
    format!("only a kind, `{}`, `{POSITIVE}` or `{CHANGEABLE}` can be said here", WITH_VALUE.join("`, `"))
}
