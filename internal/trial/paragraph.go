package trial

import (
	"strconv"
	"strings"
)

// Languages returns names of scripts in which a summary may be one paragraph without a full stop that
// ends an English sentence.
func Languages() []string { return []string{"Chinese", "Japanese", "Arabic", "emoji", "English"} }

var phrases = map[string]string{
	"Chinese":  "我们决定保留这个部分因为测试需要它，并且文件已经修改过了。",
	"Japanese": "テストに必要なのでこの部分は残すことにしました。ファイルは変更済みです",
	"Arabic":   "قررنا الاحتفاظ بهذا الجزء لأن الاختبارات تحتاج إليه والملف قد تغير بالفعل، ",
	"emoji":    "👩🏽‍🚀👨‍👩‍👧‍👦🇩🇪🇧🇷é👍🏿",
	"English":  "we decided to keep this part as the tests need it and the file has been changed ",
}

// Paragraph returns a text of one line in a language of [Languages], at least n bytes long, that differs by round.
func Paragraph(language string, round, n int) string {
	phrase := phrases[language]
	return strconv.Itoa(round) + " " + strings.TrimSpace(strings.Repeat(phrase, n/len(phrase)+1))
}
