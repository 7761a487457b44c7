-- What pare has repaired back into a table, and what was wrong with it. JSON stays text: no schema is guessed.
COPY (SELECT * FROM read_json('fixed.jsonl', columns = {id: 'BIGINT', sample: 'JSON', score: 'DOUBLE'})) TO 'fixed.parquet';
CREATE TABLE wrong AS SELECT f.rule AS rule, count(*) AS n FROM (SELECT unnest(findings) AS f FROM read_json('findings.jsonl')) GROUP BY ALL ORDER BY n DESC;
CREATE TABLE changed AS SELECT id FROM 'traces.parquet' t JOIN 'fixed.parquet' x USING (id) WHERE CAST(t.sample AS VARCHAR) <> CAST(x.sample AS VARCHAR);
