-- What a tool gave is whatever its server knows, credentials and other people's letters among it. It
-- is kept sealed, so that a copy of the database does not tell it.
--
-- Rows of before are not sealed but deleted: they live a day at most, and no key is at hand here.
-- Whoever still wanted one calls the tool again.
DELETE FROM portico.tool_result;
ALTER TABLE portico.tool_result DROP COLUMN content;
ALTER TABLE portico.tool_result ADD COLUMN sealed bytea NOT NULL;
-- There is nothing in it that could be pressed together.
ALTER TABLE portico.tool_result ALTER COLUMN sealed SET STORAGE EXTERNAL;
