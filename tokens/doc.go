// Package tokens tells how many tokens a model makes of a text, a picture or a
// document, and how many it takes.
//
// # Estimates
//
// An [Estimator] adds up what each byte costs by its class and the class of the byte
// before it, at two and a half gigabytes a second and without allocation. A string in
// JSON takes the longer the more escapes it has: prose goes at one and a half
// gigabytes a second, source code at three quarters of one. The sum is conservative: on
// texts of at least 2,000 characters of code, prose, markup, JSON, minified scripts, logs,
// encoded bytes, emoji, Chinese, Japanese or Russian it is below the true count of o200k_base on less than one text
// in a hundred, and never by more than a tenth. Half of the estimates are less than a
// seventh above, and of whole requests less than a tenth; Russian and Chinese prose is
// overestimated most, by 50 to 90 %. Scripts that the vocabularies hardly know (Lao,
// Amharic, Sinhala) may cost up to twice the estimate, letters of DNA three times, and
// brackets in no order four times.
//
// The vocabularies of Claude are not public. Its estimates are fitted to the last
// one that was, with a wider margin; [Factor] corrects them, as it does all others,
// from what the provider bills.
//
// # Exact counts
//
// An [Encoding] counts o200k_base and cl100k_base exactly, for the models of OpenAI.
// It knows the letters of the Unicode version of the Go toolchain; a letter added to
// Unicode since may be split from its word.
//
// # What lies in a request
//
// CountJSON of both takes the content of a JSON string as it is, escapes and all.
// For a JSON value that the model sees as JSON, such as the arguments of a tool, use
// Count. Base64 is never text: [Estimator.Media] prices pictures, documents and
// recordings, by their size where it can be read from their bytes.
// [Estimator.Reading] joins these to another counter of texts.
//
// # Money
//
// [PriceOf] has the list prices of models and [CacheOf] what their caches save;
// [Price.Cost] makes dollars of both.
package tokens
