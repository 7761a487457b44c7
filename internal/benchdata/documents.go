package benchdata

// Documents are short, and half of them no JSON: each is there for a rule of
// RFC 8259 or for a habit of the scanner (words of eight bytes, short strings).
var Documents = []string{
	`null`, `true`, `false`, `0`, `-0`, `1.5e+3`, `""`, `{}`, `[]`, ` [ 1 , { "a" : [ ] } ] `,
	`{"a":1,"b":[true,false,null],"c":{"d":"e"}}`,
	`"\u0041\ud83d\ude00\"\\\/\b\f\n\r\t"`, "\"h\u00e9llo \u4e16\u754c \U0001F600\"",
	`"exactly8"`, `"0123456789abcdef0123456789abcdef"`, `"0123456789abcde\"f"`, `"\\\\\\\\\\\\\\\\\""`,
	``, ` `, `{`, `[`, `"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `[1,`, `[1,]`, `{"a":1,}`, `[1 2]`, `{"a" 1}`, `{a:1}`, `{"a":1 "b":2}`,
	`tru`, `trux`, `nul`, `+1`, `01`, `1.`, `1e`, `1e+`, `-`, `.5`, `NaN`, `1 2`, `[]]`, `{}}`, `]`, `}`, `,`, `:`,
	`"\q"`, `"\u12"`, `"\u12g4"`, `"\`, `"\ud83d"`, `"\ud83d\u0041"`, `"\ude00"`, `"\ud83d\ud83d\ude00"`,
	"\"\x01\"", "\"a\nb\"", "\"\xff\"", "\"0123456789\xc3\"", "\"\xed\xa0\x80\"", "\xef\xbb\xbf{}", "\"\x7f\"",
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"x":{"a":1,"a":2}}`, `[{"k":1},{"k":1}]`,
	`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0,"m":0,"a":0}`,
}
