//! Plain data that is recorded whole.

use crate::input::State;
use proc_macro2::TokenStream;
use quote::quote;

pub(crate) fn generate(state: &State<'_>) -> TokenStream {
    let State { name, restore, .. } = state;
    let (parameters, arguments, bounds) = state.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #parameters #restore::Undoable for #name #arguments #bounds {
            type Undo = Self;
            type View<'view, R: #restore::Recorder<Self>> = #restore::Tracked<'view, Self, R> where Self: 'view;

            #[inline(always)]
            fn view<R: #restore::Recorder<Self>>(&mut self, recorder: R) -> #restore::Tracked<'_, Self, R> {
                #restore::Tracked::new(self, recorder)
            }

            #[inline]
            fn undo(&mut self, undo: Self) {
                *self = undo;
            }
        }

        #[automatically_derived]
        impl #parameters #restore::Whole for #name #arguments #bounds {
            #[inline(always)]
            fn record_of(old: Self) -> Self {
                old
            }
        }
    }
}
