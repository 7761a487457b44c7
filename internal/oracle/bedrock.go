package oracle

// bedrock: roles alternate, for every family. Every toolUse is answered by one toolResult of
// the next message, and every toolResult answers a toolUse of the message before.
func (c *judge) bedrock() {
	all := c.turns("content", false)
	for i := 1; i < len(all); i++ {
		if all[i].role == all[i-1].role {
			c.fault(Roles, "", "%d", all[i].first)
		}
	}
	turns := c.turns("content", true)
	for k, t := range turns {
		answered := map[string]bool{}
		if k+1 < len(turns) && turns[k+1].role == "user" {
			for _, b := range turns[k+1].parts {
				if b.has("toolResult") {
					answered[b.object.object("toolResult").text("toolUseId")] = true
				}
			}
		}
		asked := map[string]bool{}
		if k > 0 && turns[k-1].role == "assistant" {
			for _, b := range turns[k-1].parts {
				if b.has("toolUse") {
					asked[b.object.object("toolUse").text("toolUseId")] = true
				}
			}
		}
		uses, results := map[string]bool{}, map[string]bool{}
		for _, b := range t.parts {
			switch use, result := b.object.object("toolUse"), b.object.object("toolResult"); {
			case b.has("toolUse") && t.role != "assistant":
				c.fault(Misplaced, use.text("toolUseId"), "%s", b.path)
			case b.has("toolUse"):
				id := use.text("toolUseId")
				if uses[id] {
					c.fault(Reused, id, "%s", b.path)
				}
				uses[id] = true
				if !answered[id] {
					c.fault(Unanswered, id, "%s", b.path)
				}
			case b.has("toolResult") && t.role != "user":
				c.fault(Misplaced, result.text("toolUseId"), "%s", b.path)
			case b.has("toolResult"):
				id := result.text("toolUseId")
				switch {
				case !asked[id]:
					c.fault(Orphan, id, "%s", b.path)
				case results[id]:
					c.fault(Twice, id, "%s", b.path)
				}
				results[id] = true
			}
		}
	}
}
