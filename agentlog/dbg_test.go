package agentlog
import ("testing";"os";"fmt";"github.com/pare-llm/pare/wire")
func TestDbg(t *testing.T){
 p:=os.Getenv("DBG"); if p=="" {t.Skip()}
 raw,_:=os.ReadFile(p)
 l:=mustRead(t,p,raw)
 for _,th:=range l.Threads { fmt.Print(th.Name,": "); for _,x:=range th.parts { fmt.Print(l.units[x.unit].line," ") }; fmt.Println() }
 for _,f:=range l.Check(wire.CheckOptions{Advice:true}) { fmt.Println("find",f.Line,f.Thread,f.Rule,f.IDs,f.Message) }
 fx,_:=l.Fix(Options{})
 for _,c:=range fx.Changes { fmt.Println("chg",c.Line,c.Action,c.Rule,c.Reason)}
 for _,f:=range fx.Left { fmt.Println("left",f.Line,f.Rule,f.Message)}
 os.WriteFile(p+".out",fx.Raw,0o644)
 l=mustRead(t,p,fx.Raw)
 for _,th:=range l.Threads { fmt.Print(th.Name,": "); for _,x:=range th.parts { fmt.Print(l.units[x.unit].line," ") }; fmt.Println() }
}
