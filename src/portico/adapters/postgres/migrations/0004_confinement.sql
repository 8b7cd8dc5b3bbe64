-- What each server may reach, if somebody has said so, and the consent to start it without a box.

ALTER TABLE portico.server
    ADD COLUMN profile  jsonb CHECK (jsonb_typeof(profile) = 'object'),
    ADD COLUMN unboxed  jsonb CHECK (jsonb_typeof(unboxed) = 'object');

GRANT UPDATE (profile, unboxed) ON portico.server TO portico_app;
